/** Splits a file of SQL into its statements, as far as the rules for migrations need it. PURE. */

/** One statement, without its comments and with empty quotes. */
export type SqlStatement = {
  /** In lower case, with single spaces. A quoted text is `''`, the body of a function `$$`. */
  readonly text: string;
  /** The text between the dollar signs of a DO block, which runs at once. */
  readonly body: string | undefined;
};

/** The statements of a file, and its comments without their dashes. */
export type SqlParts = { readonly statements: readonly SqlStatement[]; readonly comments: readonly string[] };

// In the order in which they are tried: a line comment, a block comment, a quoted text, a quoted name, a dollar quote.
const tokens =
  /--([^\n]*)|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"((?:[^"]|"")*)"|\$(\w*)\$([\s\S]*?)\$\3\$|;|[^-/'"$;]+|[\s\S]/g;

/** Splits SQL as PostgreSQL does; text that it cannot split is one statement. */
export function readSql(sql: string): SqlParts {
  const statements: SqlStatement[] = [];
  const comments: string[] = [];
  let text = "";
  let body: string | undefined;
  const end = (): void => {
    const plain = text.replace(/\s+/g, " ").trim().toLowerCase();
    if (plain !== "") statements.push({ text: plain, body: plain.startsWith("do ") ? body : undefined });
    text = "";
    body = undefined;
  };
  for (const [token, comment, quotedName, , dollarBody] of sql.matchAll(tokens)) {
    if (comment !== undefined) comments.push(comment.trim());
    else if (token.startsWith("/*")) text += " ";
    else if (token === ";") end();
    else if (quotedName !== undefined) text += quotedName;
    else if (dollarBody !== undefined) {
      body = dollarBody;
      text += "$$";
    } else text += token.startsWith("'") ? "''" : token;
  }
  end();
  return { statements, comments };
}
