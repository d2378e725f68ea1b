/**
 * Extracts the facts that rules need from a source file. Read from the compiler's tree, so that a comment or a string
 * never counts as code.
 */
import {
  type DefaultClause,
  type ImportDeclaration,
  type Node,
  type SourceFile,
  SyntaxKind,
} from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { type Checker, type Type, TypeFlags } from "typescript/unstable/sync";

/** An import or re-export. `target` is a path from the checkout for a file of ours, else the specifier as written. */
export type ImportFact = { readonly target: string; readonly isTypeOnly: boolean; readonly line: number };

/** A use that a rule may forbid: `Date.now`, `new Date()`, `process.env`, `it.only`, an imported name. */
export type UseFact = { readonly what: string; readonly line: number };

/** A switch. `isOverUnion`: over literals that are listed in its type; `isClosed`: its default calls `unreachable`. */
type SwitchFact = { readonly line: number; readonly isOverUnion: boolean; readonly isClosed: boolean };

export type SourceFacts = {
  /** The path from the checkout, with slashes. */
  readonly path: string;
  /** The comment that the file opens with, without its marks; empty when it opens with code. */
  readonly openingComment: string;
  readonly imports: readonly ImportFact[];
  readonly uses: readonly UseFact[];
  readonly literals: readonly UseFact[];
  readonly switches: readonly SwitchFact[];
  readonly starExports: readonly UseFact[];
  /** True if it only re-exports from other files. */
  readonly isBarrel: boolean;
};

export function factsOf(path: string, file: SourceFile, checker: Checker): SourceFacts {
  const nodes = allNodes(file);
  const lineOf = (node: Node) => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
  const use = (node: Node, what: string): UseFact => ({ what, line: lineOf(node) });
  return {
    path,
    openingComment: openingCommentOf(file.text),
    imports: nodes.flatMap((node) => importOf(path, node, lineOf(node))),
    uses: nodes.flatMap((node) => usesOf(node, file).map((what) => use(node, what))),
    literals: nodes.flatMap((node) => (isText(node) ? [use(node, node.text)] : [])),
    switches: nodes.filter(is.isSwitchStatement).map((node) => ({
      line: lineOf(node),
      isOverUnion: isUnionOfLiterals(checker.getTypeAtLocation(node.expression)),
      isClosed: node.caseBlock.clauses.some((clause) => is.isDefaultClause(clause) && callsUnreachable(clause, file)),
    })),
    starExports: nodes
      .filter((node) => is.isExportDeclaration(node) && node.exportClause === undefined)
      .map((node) => use(node, "export *")),
    isBarrel: file.statements.length > 0 && file.statements.every(isHandedOn),
  };
}

function allNodes(file: SourceFile): Node[] {
  const nodes: Node[] = [];
  const walk = (node: Node): void => {
    nodes.push(node);
    node.forEachChild(walk);
  };
  walk(file);
  return nodes;
}

/** The values of an enum come from a protocol, which may gain others: a switch over one has a real default instead. */
function isUnionOfLiterals(type: Type | undefined): boolean {
  if (type === undefined || !type.isUnionType()) return false;
  const rest = type.getTypes().filter(({ flags }) => (flags & (TypeFlags.Undefined | TypeFlags.Null)) === 0);
  return rest.length > 0 && rest.every((part) => part.isLiteralType() && (part.flags & TypeFlags.EnumLiteral) === 0);
}

function callsUnreachable(clause: DefaultClause, file: SourceFile): boolean {
  return /^(return |throw )?unreachable\(/.test(clause.statements[0]?.getText(file) ?? "");
}

function openingCommentOf(text: string): string {
  const source = text.replace(/^#!.*\n/, "");
  const block = /^\/\*\*?([\s\S]*?)\*\//.exec(source)?.[1]?.replace(/^\s*\* ?/gm, "");
  const lines = /^(?:\/\/.*\n)+/.exec(source)?.[0].replace(/^\/\/ ?/gm, "");
  return (block ?? lines ?? "").trim();
}

function importOf(path: string, node: Node, line: number): ImportFact[] {
  const specifier = specifierOf(node);
  if (specifier === undefined) return [];
  const target = specifier.startsWith(".") ? resolveFrom(path, specifier) : specifier;
  const isTypeOnly = is.isImportTypeNode(node) || (is.isImportDeclaration(node) && isTypeImport(node));
  return [{ target, isTypeOnly: isTypeOnly || (is.isExportDeclaration(node) && node.isTypeOnly), line }];
}

function specifierOf(node: Node): string | undefined {
  if (is.isImportDeclaration(node)) return textOf(node.moduleSpecifier);
  if (is.isExportDeclaration(node)) return textOf(node.moduleSpecifier);
  if (is.isImportTypeNode(node)) return is.isLiteralTypeNode(node.argument) ? textOf(node.argument.literal) : undefined;
  const isDynamic = is.isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword;
  return isDynamic ? textOf(node.arguments[0]) : undefined;
}

function isTypeImport(node: ImportDeclaration): boolean {
  const clause = node.importClause;
  if (clause?.phaseModifier === SyntaxKind.TypeKeyword) return true;
  const names = clause?.namedBindings;
  if (clause?.name !== undefined || names === undefined || !is.isNamedImports(names)) return false;
  return names.elements.every((element) => element.isTypeOnly);
}

function resolveFrom(path: string, specifier: string): string {
  return new URL(specifier, `file:///${path}`).pathname.slice(1);
}

function usesOf(node: Node, file: SourceFile): string[] {
  if (is.isPropertyAccessExpression(node)) return [node.getText(file)];
  if (is.isImportSpecifier(node)) return [(node.propertyName ?? node.name).getText(file)];
  const isNow = is.isNewExpression(node) && node.expression.getText(file) === "Date" && !node.arguments?.length;
  return isNow ? ["new Date()"] : [];
}

function isText(node: Node): node is Node & { readonly text: string } {
  const kinds = [is.isStringLiteral, is.isNoSubstitutionTemplateLiteral, is.isTemplateHead, is.isTemplateMiddle];
  return [...kinds, is.isTemplateTail].some((isKind) => isKind(node));
}

function textOf(node: Node | undefined): string | undefined {
  return node !== undefined && isText(node) ? node.text : undefined;
}

function isHandedOn(statement: Node): boolean {
  return is.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined;
}
