/** Moves items in a list. */

/** Returns the list with `moved`, in their own order, before or after `target`; unchanged if target is one of them. */
export function reordered(
  list: readonly string[],
  moved: ReadonlySet<string>,
  { target, place }: { target: string; place: "before" | "after" },
): string[] {
  if (moved.has(target) || !list.includes(target)) return [...list];
  const rest = list.filter((id) => !moved.has(id));
  const index = rest.indexOf(target) + (place === "after" ? 1 : 0);
  return [...rest.slice(0, index), ...list.filter((id) => moved.has(id)), ...rest.slice(index)];
}
