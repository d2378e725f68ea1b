/** Checks that a migration is safe while the code before it and the code after it both serve traffic. PURE. */
import type { SqlFile } from "./schema-history.ts";

/** Each rule by its name in exceptions, with its reason and what to do instead. */
export const migrationRules = {
  "drop-table": "old code still reads it: drop it one release after the last code that does",
  "drop-column": "old code still reads or writes it: drop it one release after the last code that does",
  "drop-index": "an upsert of old code may name it, and queries may need it: drop it CONCURRENTLY, one release later",
  "drop-function": "old code may call it: drop it one release after the last code that does",
  rename: "old code knows the old name: add the new one, write both, and drop the old one later",
  "change-type": "the table is rewritten under a lock: add a column of the new type and fill it in batches",
  "set-not-null":
    "the table is read under a lock: add CHECK (… IS NOT NULL) NOT VALID first, validate it in a later file",
  "add-not-null": "old code inserts rows without it: give it a constant default, or let it be null",
  "volatile-default": "the table is rewritten under a lock: add the column without a default, and fill it in batches",
  "index-not-concurrent": "writers wait until it is built: use CONCURRENTLY, in a file with outsideTransaction",
  "concurrent-in-transaction": "PostgreSQL refuses CONCURRENTLY in a transaction: export outsideTransaction = true",
  "not-repeatable":
    "without a transaction half of it may stay: one CONCURRENTLY per statement, and DROP IF EXISTS before CREATE",
  "constraint-at-once":
    "the table is read under a lock: add it NOT VALID, or USING INDEX, and validate it in a later file",
  "validate-with-add": "the lock of ADD is held while all rows are read: validate it in a later file",
  "change-rows": "locks and writes rows while the table is in use: let the worker do it in batches",
  truncate: "the table is locked meanwhile, and its rows are lost",
  "lock-table": "every later transaction waits behind it",
  rewrite: "the table is locked until it is rewritten",
  "dynamic-sql": "dynamic SQL cannot be checked: write it out",
  "own-timeout": "migrate.ts sets how long a migration waits for locks",
} as const;

export type MigrationRule = keyof typeof migrationRules;

export type Violation = { readonly rule: MigrationRule | "unknown" | "needless"; readonly statement: string };

/** The state before a file: columns, with their tables, that a constraint keeps from being null. */
type Known = { readonly notNullChecks: ReadonlySet<string> };

const allowedPattern = /^allowed: ([\w-]+): \S.{7,}/;

/**
 * Returns the rules that `file` breaks after `earlier`, the files before it of the same database. A file allows an
 * exception by a comment, `-- allowed: <rule>: <reason>`; exceptions that it does not need are reported too.
 */
export function findViolations(file: SqlFile, earlier: readonly SqlFile[]): Violation[] {
  const { statements, comments } = partsOf(file);
  const known = knownAfter(earlier);
  const isOutside = "outsideTransaction" in file;
  const created = new Set(statements.flatMap(({ text }) => createdTable(text) ?? []));
  const broken = statements.flatMap((statement, at) => {
    const before = statements.slice(0, at).map(({ text }) => text);
    const rules = [
      ...brokenBy(statement, { known, created, before }),
      ...outsideRules(statement, { isOutside, before }),
    ];
    return [...new Set(rules)].map((rule) => ({ rule, statement: statement.text }));
  });
  const allowed = comments.flatMap((comment) => allowedPattern.exec(comment)?.[1] ?? []);
  const unknown = allowed.filter((name) => !(name in migrationRules));
  const needless = allowed.filter((name) => name in migrationRules && !broken.some(({ rule }) => rule === name));
  return [
    ...broken.filter(({ rule }) => !allowed.includes(rule)),
    ...unknown.map((name) => ({ rule: "unknown" as const, statement: name })),
    ...needless.map((name) => ({ rule: "needless" as const, statement: name })),
  ];
}

function partsOf({ sql }: SqlFile) {
  const parts = (typeof sql === "string" ? [sql] : sql).map(readSql);
  return {
    statements: parts.flatMap(({ statements }) => statements),
    comments: parts.flatMap(({ comments }) => comments),
  };
}

const name = String.raw`(?:[\w.]+)`;
const createdPattern = new RegExp(`^create (?:unlogged )?table (?:if not exists )?(${name})`);
const alterPattern = new RegExp(`^alter table (?:if exists )?(?:only )?(${name})\\s*\\*? (.*)$`);
const notNullCheck = new RegExp(
  `add constraint (${name}) (?:check \\(+(${name}) is not null\\)+|not null (${name})) not valid`,
  "g",
);

function createdTable(text: string): string | undefined {
  return createdPattern.exec(text)?.[1];
}

function knownAfter(earlier: readonly SqlFile[]): Known {
  const texts = earlier.flatMap((file) => partsOf(file).statements.map(({ text }) => text));
  const checks = texts.flatMap((text) => {
    const table = alterPattern.exec(text)?.[1];
    return [...text.matchAll(notNullCheck)].map(([, , inCheck, plain]) => `${table}.${inCheck ?? plain}`);
  });
  return { notNullChecks: new Set(checks) };
}

type Position = { readonly known: Known; readonly created: ReadonlySet<string>; readonly before: readonly string[] };

/** A table that is in use while this runs: any that this file does not create itself. */
const isInUse = (table: string | undefined, { created }: Position) => table !== undefined && !created.has(table);

function brokenBy(statement: SqlStatement, position: Position): MigrationRule[] {
  const { text, body } = statement;
  if (body !== undefined) return brokenInBlock(body, position);
  const altered = alterPattern.exec(text);
  if (altered !== null) return isInUse(altered[1], position) ? brokenByAlter(altered[1]!, altered[2]!, position) : [];
  return plainRules.flatMap(({ rule, pattern }) => {
    const found = pattern.exec(text);
    if (found === null) return [];
    return found.length === 1 || isInUse(found[1], position) ? [rule] : [];
  });
}

/** Checks a block, whose statements run at once and obey the same rules. */
function brokenInBlock(body: string, position: Position): MigrationRule[] {
  const inner = readSql(body.replace(/\b(begin|then|loop|else|declare)\b/gi, ";")).statements;
  const dynamic = inner.some(({ text }) => /(^| )execute /.test(text)) ? (["dynamic-sql"] as const) : [];
  return [...dynamic, ...inner.flatMap((statement) => brokenBy({ ...statement, body: undefined }, position))];
}

/** Statements of one form. If a pattern captures a table, it matters only if that table is in use. */
const plainRules: readonly { readonly rule: MigrationRule; readonly pattern: RegExp }[] = [
  { rule: "drop-table", pattern: new RegExp(`^drop table (?:if exists )?(${name})`) },
  { rule: "drop-index", pattern: /^drop index (?!concurrently)/ },
  { rule: "drop-function", pattern: /^drop (function|procedure|routine|view|type|schema|domain) / },
  { rule: "rename", pattern: /^alter (?!table).* rename / },
  { rule: "change-type", pattern: /^alter (type|domain) (?!.* add value)/ },
  {
    rule: "index-not-concurrent",
    pattern: new RegExp(`^create (?:unique )?index (?!concurrently).*? on (?:only )?(${name})`),
  },
  { rule: "index-not-concurrent", pattern: /^reindex (?!.*concurrently)/ },
  { rule: "change-rows", pattern: new RegExp(`^(?:with .*?)?update (?:only )?(${name})`) },
  { rule: "change-rows", pattern: new RegExp(`^(?:with .*?)?delete from (?:only )?(${name})`) },
  { rule: "change-rows", pattern: new RegExp(`^merge into (?:only )?(${name})`) },
  { rule: "change-rows", pattern: new RegExp(`^insert into .*?\\bselect .*? from (?:only )?(${name})`) },
  { rule: "truncate", pattern: /^truncate / },
  { rule: "lock-table", pattern: /^lock / },
  { rule: "rewrite", pattern: /^(cluster|vacuum (\(.*)?full)/ },
  { rule: "own-timeout", pattern: /^set (?:local |session )?(?:lock_timeout|statement_timeout)/ },
];

function brokenByAlter(table: string, actions: string, position: Position): MigrationRule[] {
  return actionsOf(actions).flatMap((action) => [
    ...alterRules.flatMap(({ rule, pattern }) => (pattern.test(action) ? [rule] : [])),
    ...addedColumn(action),
    ...setNotNull(table, action, position),
    ...validated(table, action, position),
  ]);
}

/** Splits one ALTER TABLE into its actions, at commas outside brackets. */
function actionsOf(text: string): string[] {
  let depth = 0;
  const divided = [...text].map((letter) => {
    depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    return letter === "," && depth === 0 ? "\n" : letter;
  });
  return divided
    .join("")
    .split("\n")
    .map((action) => action.trim());
}

const constraintKinds = "constraint|foreign key|check|primary key|unique|exclude|not null";

const alterRules: readonly { readonly rule: MigrationRule; readonly pattern: RegExp }[] = [
  { rule: "drop-column", pattern: /^drop (?!constraint|expression|identity)/ },
  { rule: "rename", pattern: /^rename / },
  { rule: "change-type", pattern: /^alter (column )?\S+ (set data )?type / },
  { rule: "constraint-at-once", pattern: new RegExp(`^add (${constraintKinds})\\b(?!.* (not valid|using index))`) },
  { rule: "rewrite", pattern: /^set (logged|unlogged|tablespace|access method)/ },
];

function addedColumn(action: string): MigrationRule[] {
  if (!action.startsWith("add ") || new RegExp(`^add (${constraintKinds})\\b`).test(action)) return [];
  const rules: MigrationRule[] = [];
  // now() is computed once; a default that is computed for each row rewrites the table.
  const fallback = /\bdefault (.+?)(?= (?:not null|check|references|unique|primary key)\b|$)/.exec(action)?.[1];
  if (
    /\(/.test(fallback?.replaceAll("now()", "") ?? "") ||
    /\bgenerated (always|by default)\b|\b(big|small)?serial\b/.test(action)
  ) {
    rules.push("volatile-default");
  }
  if (/\bnot null\b/.test(action) && fallback === undefined) rules.push("add-not-null");
  if (/\b(check|unique|primary key)\b/.test(action)) rules.push("constraint-at-once");
  return rules;
}

function setNotNull(table: string, action: string, { known }: Position): MigrationRule[] {
  const column = /^alter (?:column )?(\S+) set not null/.exec(action)?.[1];
  return column === undefined || known.notNullChecks.has(`${table}.${column}`) ? [] : ["set-not-null"];
}

function validated(table: string, action: string, { before }: Position): MigrationRule[] {
  const constraint = /^validate constraint (\S+)/.exec(action)?.[1];
  const isNew = before.some(
    (text) => text.startsWith(`alter table ${table} `) && text.includes(`add constraint ${constraint} `),
  );
  return constraint !== undefined && isNew ? ["validate-with-add"] : [];
}

/** Checks statements outside a transaction, each of which a run that failed may already have executed. */
function outsideRules(
  { text }: SqlStatement,
  { isOutside, before }: { isOutside: boolean; before: readonly string[] },
) {
  const isConcurrent = /^(create (unique )?index|drop index|reindex.*) concurrently /.test(text);
  if (!isOutside) return isConcurrent ? (["concurrent-in-transaction"] as const) : [];
  const index = /^create (?:unique )?index concurrently (?!if not exists)(\S+)/.exec(text)?.[1];
  const isCleared = index !== undefined && before.includes(`drop index concurrently if exists ${index}`);
  const isHarmless =
    isCleared || /^drop index concurrently if exists /.test(text) || /^alter table .* validate constraint /.test(text);
  return isHarmless ? [] : (["not-repeatable"] as const);
}

/** A statement, without its comments and with empty quotes. */
type SqlStatement = {
  /** The text in lower case, with single spaces. A quoted text is `''`, the body of a function `$$`. */
  readonly text: string;
  /** The text between the dollar signs of a DO block, which runs at once. */
  readonly body: string | undefined;
};

/** The statements of a file, and its comments without their dashes. */
type SqlParts = { readonly statements: readonly SqlStatement[]; readonly comments: readonly string[] };

// The alternatives in the order in which they are tried: a line comment, a block comment, a quoted text, a quoted name,
// a dollar quote.
const tokens =
  /--([^\n]*)|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"((?:[^"]|"")*)"|\$(\w*)\$([\s\S]*?)\$\3\$|;|[^-/'"$;]+|[\s\S]/g;

/** Splits SQL as PostgreSQL does; text that it cannot split is one statement. */
function readSql(sql: string): SqlParts {
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
