/** The files of the checkout in the container image: those that its COPY lines name and its ignore file allows. */
import { readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { DockerfileParser } from "dockerfile-ast";

const root = join(import.meta.dirname, "../../..");

export const dockerfile: string = readFileSync(join(root, "deploy", "Dockerfile"), "utf8");
const ignoreFile = readFileSync(join(root, "deploy", "Dockerfile.dockerignore"), "utf8");

/** The files of the last stage that come from the checkout, and not from another stage. */
const parsed = DockerfileParser.parse(dockerfile);
const lastStage = parsed.getFROMs().at(-1)?.getRange()?.start.line ?? 0;
const copied: readonly string[] = parsed
  .getCOPYs()
  .filter((copy) => copy.getFlags().length === 0 && (copy.getRange()?.start.line ?? 0) > lastStage)
  .flatMap((copy) => copy.getArguments().slice(0, -1))
  .map((argument) => argument.getValue());

/** True if the builder receives this file: the last matching line of the ignore file decides, as in Docker. */
function isSent(path: string, ignoreLines: readonly string[]): boolean {
  const lines = ignoreLines.filter((line) => line !== "" && !line.startsWith("#"));
  const deciding = lines.findLast((line) => fits(path, line.replace(/^!/, "")));
  return deciding === undefined || deciding.startsWith("!");
}

function fits(path: string, pattern: string): boolean {
  const folders = path.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/"));
  return folders.some((each) => matchesGlob(each, pattern));
}

/** True if the image has this file of the checkout. */
export function isInImage(path: string): boolean {
  const isCopied = copied.some((source) => path === source || path.startsWith(`${source}/`));
  return isCopied && isSent(path, ignoreFile.split("\n"));
}
