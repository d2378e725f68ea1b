/** The edits of the settings page: each belongs to a row, and one bar saves them all. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useState } from "react";
import { Button } from "../parts/button.tsx";
import { LeaveQuestion } from "../parts/leave-question.tsx";
import { showSection } from "../parts/page-contents.tsx";
import { ProofDeclined } from "../parts/refusal.tsx";
import { SaveBar } from "../parts/save-bar.tsx";
import { codeOf, messageOf } from "../rpc.ts";

export type Setting = {
  title: string;
  /** The value that the service has. */
  kept: string;
  /** The revision of the saved value, if it has one. An edit is saved with the one that it began with. */
  revision?: string;
  /** True if other settings have the same revision, which each of them renews. */
  sharesRevision?: boolean;
  findProblem?: (text: string) => string | undefined;
  /** Saves a text, and returns the new revision. */
  save: (text: string, revision: string) => Promise<string | undefined>;
};

/** `isSaved`: shown until the saved value is loaded again. */
type Draft = { readonly setting: Setting; readonly text: string; readonly revision: string; readonly isSaved: boolean };
type Failed = { readonly title: string; readonly error: unknown };

export const rowId = (title: string) => title.replaceAll(" ", "-");

const Context = createContext<{
  draftOf: (title: string) => Draft | undefined;
  change: (setting: Setting, text: string) => void;
  /** Problems are shown once the person has saved: shown earlier, they would move the button. */
  isChecked: boolean;
  failed: Failed | undefined;
  submit: () => void;
} | null>(null);

export function useSettingDrafts() {
  return useContext(Context)!;
}

const problemOf = ({ setting, text }: Draft) => setting.findProblem?.(text);

export function SettingDrafts({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [drafts, setDrafts] = useState<readonly Draft[]>([]);
  const [isChecked, setChecked] = useState(false);
  const [failed, setFailed] = useState<Failed>();
  const unsaved = drafts.filter(({ isSaved }) => !isSaved);
  const save = useMutation({
    mutationFn: async () => {
      const renewed = new Map<string, string | undefined>();
      for (const draft of unsaved) {
        const { setting, text } = draft;
        const revision = (setting.sharesRevision && renewed.get(draft.revision)) || draft.revision;
        const newer = await setting.save(text, revision).catch((error: unknown) => {
          setFailed({ title: setting.title, error });
          // The change is kept with the call that waits.
          if (codeOf(error) === "approval_pending") setDrafts((before) => before.filter((each) => each !== draft));
          throw error;
        });
        if (setting.sharesRevision) renewed.set(draft.revision, newer);
        // A text that was typed meanwhile is a change of the saved value.
        setDrafts((before) =>
          before.map((each) =>
            each.setting.title === setting.title
              ? { ...each, revision: newer ?? revision, isSaved: each.text === text }
              : each,
          ),
        );
      }
    },
    onSettled: () =>
      queries.invalidateQueries({}, { throwOnError: true }).then(
        () => setDrafts((before) => before.filter(({ isSaved }) => !isSaved)),
        // If the query fails, the page shows what it has saved.
        () => {},
      ),
    meta: { done: "Saved." },
  });
  const submit = () => {
    const wrong = unsaved.find(problemOf);
    setChecked(true);
    setFailed(undefined);
    if (wrong) showSection(rowId(wrong.setting.title));
    else if (unsaved.length > 0) save.mutate(undefined, { onSuccess: () => setChecked(false) });
  };
  const discard = () => {
    setDrafts([]);
    setChecked(false);
    setFailed(undefined);
    void queries.invalidateQueries();
  };
  const change = (setting: Setting, text: string) => {
    const before = drafts.find((draft) => draft.setting.title === setting.title);
    const revision = before?.revision ?? setting.revision ?? "";
    const others = drafts.filter((draft) => draft !== before);
    const isKept = text === setting.kept && !before?.isSaved;
    setDrafts(isKept ? others : [...others, { setting, text, revision, isSaved: false }]);
  };
  const draftOf = (title: string) => drafts.find(({ setting }) => setting.title === title);
  const titles = unsaved.map(({ setting }) => setting.title).join(", ");
  return (
    <Context value={{ draftOf, change, isChecked, failed, submit }}>
      {children}
      {unsaved.length > 0 && (
        <SaveBar
          changes={unsaved.map((draft) => (
            <Change key={draft.setting.title} draft={draft} isChecked={isChecked} failed={failed} />
          ))}
        >
          <Button kind="main" isPending={save.isPending} onPress={submit}>
            Save
          </Button>
          <Button onPress={discard}>
            {failed && codeOf(failed.error) === "state_conflict" ? "Show the current values" : "Discard"}
          </Button>
        </SaveBar>
      )}
      <LeaveQuestion isChanged={unsaved.length > 0} lost={`Your changes are lost: ${titles}.`} />
    </Context>
  );
}

function Change({ draft, isChecked, failed }: { draft: Draft; isChecked: boolean; failed: Failed | undefined }) {
  const { title } = draft.setting;
  const refused =
    failed?.title === title && !(failed.error instanceof ProofDeclined) ? messageOf(failed.error) : undefined;
  const problem = (isChecked ? problemOf(draft) : undefined) ?? refused;
  return <li>{problem === undefined ? title : `${title}: ${problem}`}</li>;
}
