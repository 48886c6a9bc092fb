-- SPDX-License-Identifier: Apache-2.0
-- pg_temp.make_parts(DAYS): creates the partitions of all tables for the last DAYS, as whirr does when it writes; for rows that are inserted with SQL.
CREATE FUNCTION pg_temp.make_parts(days integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t record;
    day date;
    name text;
BEGIN
    FOR t IN SELECT * FROM (VALUES ('samples', 1, 0), ('host_samples', 1, 0), ('minutes', 7, 0), ('host_minutes', 7, 0), ('hours', 91, 0), ('host_hours', 91, 0),
        ('process_minutes', 7, 60), ('energy', 7, 60), ('process_hours', 91, 3600), ('energy_hours', 91, 3600)) AS v (parent, length, unit) LOOP
        day := date '1970-01-05' + ((now() AT TIME ZONE 'UTC')::date - days - date '1970-01-05') / t.length * t.length;
        WHILE day <= (now() AT TIME ZONE 'UTC')::date LOOP
            name := t.parent || to_char(day, '_YYYY_MM_DD');
            IF to_regclass(name) IS NULL THEN
                EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL%s)', name, t.parent, CASE WHEN t.unit = 0 AND t.length > 1 THEN ', PRIMARY KEY (id)' ELSE '' END);
                EXECUTE format(CASE t.unit WHEN 0 THEN 'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%3$L::timestamptz) TO (%4$L::timestamptz)'
                                           ELSE 'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%5$s) TO (%6$s)' END, t.parent, name,
                               day || ' 00:00:00+00', day + t.length || ' 00:00:00+00', (day - date '1970-01-01') * 86400 / greatest(t.unit, 1),
                               (day + t.length - date '1970-01-01') * 86400 / greatest(t.unit, 1));
            END IF;
            day := day + t.length;
        END LOOP;
    END LOOP;
END$$;
