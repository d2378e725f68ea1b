/** A button that saves a table of the page as a CSV file, with the table's days in the file's name. */
import { createContext, useContext } from "react";
import { Button } from "./button.tsx";
import { csvOf, saveFile } from "./csv.ts";

/** The days that the tables below are of, as `2026-11-21_2026-11-27`. */
export const CsvDays = createContext("");

/** The button. `rows` returns the table, its headings first. */
export function CsvButton({
  title,
  id,
  rows,
}: {
  title: string;
  id: string;
  rows: () => readonly (readonly (string | number)[])[];
}) {
  const days = useContext(CsvDays);
  return (
    <Button onPress={() => saveFile(csvOf(rows()), `${id}_${days}.csv`)} aria-label={`${title} as a CSV file`}>
      CSV file
    </Button>
  );
}
