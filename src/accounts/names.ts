/** The rule of names of merchants and members, which appear in mails to people who do not know them yet. PURE. */

// Formatting characters reorder or hide text, except for the joiners of Persian, of Indic scripts and of emoji.
const hidden = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
// The parts of a text that programs for mail turn into a link: an address, a path, and a dot between a word and a
// domain's last label. Other dots mean the same in domains (UTS 46).
const link = /[/\\@]|[\p{L}\p{N}][.\u3002\uff0e\uff61]\p{L}{2}/u;
// Joiners and marks, which may stand between a letter and a dot without being seen.
const joinersAndMarks = /\u200c|\u200d|\p{M}/gu;

/** Returns the rule that a name breaks, as the end of a sentence that begins with its field; undefined if none. */
export function findNameProblem(name: string): string | undefined {
  if (!/[^\p{Z}\p{C}]/u.test(name)) return "must not be blank";
  if (hidden.test(name)) return "must be one line without control characters or characters that change its direction";
  // Characters of full width, for example, are read as the plain ones.
  if ([name, name.normalize("NFKC")].some((text) => link.test(text.replace(joinersAndMarks, "")))) {
    return "must not contain a link: no slash, no @, and no dot between letters, as in example.com";
  }
  return undefined;
}
