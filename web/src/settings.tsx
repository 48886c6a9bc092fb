// SPDX-License-Identifier: Apache-2.0
// The active settings and their origins. Read-only: they live in files that people edit.
import { useState } from "preact/hooks";
import { Missing, useAsked } from "./asked";
import { Scroll, Section } from "./parts";
import type { Setting, Settings } from "./types";

function valueText(v: unknown): string {
  if (Array.isArray(v)) return v.length ? v.map(valueText).join(", ") : "none";
  if (v && typeof v === "object")
    return (
      Object.entries(v)
        .map(([k, x]) => `${k}=${valueText(x)}`)
        .join(", ") || "none"
    );
  return v === "" || v == null ? "not set" : String(v);
}

const originText = (s: Setting) =>
  s.origin === "default" ? "default" : `${s.origin}${s.where ? ` ${s.where}` : ""}${s.line ? `:${s.line}` : ""}`;

export function SettingsPanel() {
  const [opened, setOpened] = useState(0); // times
  const [all, setAll] = useState(false);
  const asked = useAsked<Settings>("/api/settings", opened > 0, opened),
    settings = asked.value;
  const changed = settings?.settings.filter((s) => s.origin !== "default") ?? [];
  const shown = all ? (settings?.settings ?? []) : changed;
  return (
    <Section id="settings" title="Settings" fold>
      <details onToggle={(e) => e.currentTarget.open && setOpened(opened + 1)}>
        <summary>Show what is set, and where</summary>
        <Missing of={asked} />
        {settings && (
          <>
            <p>
              {settings.files.length ? (
                <>
                  Read from{" "}
                  {settings.files.map((f) => (
                    <code key={f}>{f} </code>
                  ))}
                </>
              ) : (
                "No configuration file."
              )}{" "}
              {changed.length === 0
                ? "All settings are at their defaults."
                : `${changed.length} of ${settings.settings.length} settings are not at their default.`}
            </p>
            <label class="control">
              <input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> Show all
            </label>
            {shown.length > 0 && (
              <Scroll label="List of settings">
                <table class="small">
                  <thead>
                    <tr>
                      <th scope="col">Setting</th>
                      <th scope="col">Value, and where it was set</th>
                    </tr>
                  </thead>
                  <tbody>
                    {shown.map((s) => (
                      <tr key={s.key}>
                        <th scope="row">
                          <code>
                            {s.key.split(/(?<=[._])/).map((part) => (
                              <>
                                {part}
                                <wbr />
                              </>
                            ))}
                          </code>
                        </th>
                        <td>
                          {valueText(s.value)}{" "}
                          <span class="dim">
                            {originText(s)}
                            {s.needs_restart && s.origin !== "default" ? ", changes need a restart" : ""}
                          </span>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )}
          </>
        )}
      </details>
    </Section>
  );
}
