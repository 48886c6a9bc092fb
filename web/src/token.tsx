// SPDX-License-Identifier: Apache-2.0
// Actions that need a token ask for it first, then run.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { login, post } from "./live";
import { Refused, words } from "./refused";
import { refreshActs, refreshSides, signedIn } from "./store";
import type { Session } from "./types";

export function TokenForm({ done }: { done: () => void }) {
  const [message, setMessage] = useState("");
  return (
    <form
      class="controls token"
      onSubmit={async (e) => {
        e.preventDefault();
        const field = e.currentTarget.elements.namedItem("token") as HTMLInputElement;
        try {
          const how = await login(field.value.trim());
          if (how === "ok") {
            setMessage("");
            done();
          } else {
            setMessage(
              how === "wait" ? "Too many wrong tokens. Try again in a minute." : "That token isn't known here.",
            );
            field.select();
          }
        } catch (problem) {
          setMessage(words(problem));
        }
      }}
    >
      <label class="control">
        This needs a token (<code>whirr token new NAME --role admin</code>):{" "}
        <input type="password" name="token" required autocomplete="current-password" />
      </label>
      <button type="submit">Sign in</button>
      <span role="alert" class="lv bad">
        {message}
      </span>
    </form>
  );
}

/** Ends the session; if the page itself needs a token, it then asks for one. */
export function LogOut() {
  const end = async () => {
    await fetch("/logout", { method: "POST", redirect: "manual" });
    location.reload();
  };
  return (
    <button
      type="button"
      class="logout"
      onClick={() => void end()}
      title="Ends this browser's session; acting needs a token again"
    >
      Log out
    </button>
  );
}

export type Role = "silence" | "guard" | "control";

/** Whether this role's buttons work as they are. */
export const mayAct = (session: Session | null, role: Role): boolean =>
  session != null && session.may_act && (/\badmin\b/.test(session.roles) || session.roles.split(",").includes(role));

/** Whether to show buttons for this role: a signed-in user without it would be refused; others are asked for a token. */
export const mayTry = (session: Session | null, role: Role): boolean =>
  session != null && (!session.signed_in || /\badmin\b/.test(session.roles) || session.roles.split(",").includes(role));

/** What to know before pressing a button, or why there is none. */
export function ActNote({ session, role }: { session: Session | null; role: Role }) {
  if (!session || session.may_act) return null;
  return (
    <p class="dim">
      {mayTry(session, role) ? "A button asks for a token first." : `To act, sign in with a token of the role ${role}.`}
    </p>
  );
}

/** Runs an action that needs the token; asks for it first if it is missing. */
export function useAction(): { run: (path: string, body: unknown) => void; form: ComponentChildren; note: string } {
  const [wanted, setWanted] = useState<{ path: string; body: unknown } | null>(null);
  const [note, setNote] = useState("");
  const run = async (path: string, body: unknown) => {
    try {
      await post(path, body);
      setNote("");
      setWanted(null);
      await Promise.all([refreshSides(), refreshActs()]);
    } catch (e) {
      if (e instanceof Refused && e.status === 401) setWanted({ path, body });
      else setNote(words(e));
    }
  };
  return {
    run: (p, b) => void run(p, b),
    note,
    form: wanted && (
      <TokenForm
        done={() => {
          void signedIn();
          void run(wanted.path, wanted.body);
        }}
      />
    ),
  };
}
