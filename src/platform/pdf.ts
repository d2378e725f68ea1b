/**
 * Writes pages of text as PDF 1.4 (ISO 32000-1) in Helvetica, which every reader has: no font is embedded, and the same lines have the same
 * bytes. Letters outside of Windows-1252 are written in Latin ones.
 */
import anyAscii from "any-ascii";

export type PdfLine = { readonly text: string; readonly style?: "title" | "heading" | "label" };

// A4 in points, with margins of 2 cm.
const page = { width: 595, height: 842, margin: 57 } as const;
const styles = {
  title: { size: 16, leading: 26, font: "F2" },
  heading: { size: 11, leading: 22, font: "F2" },
  label: { size: 10, leading: 14, font: "F2" },
  plain: { size: 10, leading: 14, font: "F1" },
} as const;

/** Widths of the characters from the blank to the tilde, in thousandths of the size: Adobe's metrics of Helvetica (AFM, 1997). */
const widths = [
  ...[
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556,
  ],
  ...[
    556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722,
  ],
  ...[
    778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556,
    278,
  ],
  ...[
    556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334,
    584,
  ],
];

/** Returns the file, cut after `pagesMax` pages. An empty line is a pause. */
export function writePdf(lines: readonly PdfLine[], { pagesMax }: { readonly pagesMax: number }): Buffer {
  const pages: string[] = [];
  let drawn: string[] = [];
  let y: number = page.height - page.margin;
  const turn = () => {
    pages.push(drawn.join("\n"));
    drawn = [];
    y = page.height - page.margin;
  };
  for (const { text, style = "plain" } of lines) {
    const { size, leading, font } = styles[style];
    for (const line of wrap(inLatin(text), size)) {
      if (y - leading < page.margin) turn();
      y -= leading;
      drawn.push(`BT /${font} ${size} Tf ${page.margin} ${y} Td (${line.replace(/[\\()]/g, "\\$&")}) Tj ET`);
    }
  }
  turn();
  return assemble(pages.slice(0, pagesMax));
}

// The characters of Windows-1252 that are Latin-1 have their own code.
function inLatin(text: string): string {
  return [...text]
    .map((char) => (/[\x20-\x7e\xa0-\xff]/.test(char) ? char : anyAscii(char).replace(/[^\x20-\x7e]/g, " ")))
    .join("");
}

function wrap(text: string, size: number): string[] {
  const room = ((page.width - 2 * page.margin) * 1_000) / size;
  // Bold letters are a little wider.
  const widthOf = (char: string) => 1.07 * (widths[anyAscii(char).charCodeAt(0) - 32] ?? 556);
  const lines: string[] = [];
  let [line, used] = ["", 0];
  for (const word of text.split(" ")) {
    const width = [...word].reduce((sum, char) => sum + widthOf(char), 278);
    if (line !== "" && used + width > room) {
      lines.push(line);
      [line, used] = ["", 0];
    }
    line += line === "" ? word : ` ${word}`;
    used += width;
    // A word without blanks, such as a reference.
    while (used > room && line.length > 60) {
      lines.push(line.slice(0, 60));
      line = line.slice(60);
      used = [...line].reduce((sum, char) => sum + widthOf(char), 0);
    }
  }
  return [...lines, line];
}

function assemble(pages: readonly string[]): Buffer {
  const first = 5;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, place) => `${first + 2 * place} 0 R`).join(" ")}] >>`,
    ...["Helvetica", "Helvetica-Bold"].map(
      (name) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`,
    ),
    ...pages.flatMap((content, place) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${page.width} ${page.height}] /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents ${first + 2 * place + 1} 0 R >>`,
      `<< /Length ${Buffer.byteLength(content, "latin1")} >>\nstream\n${content}\nendstream`,
    ]),
  ];
  let file = "%PDF-1.4\n";
  const offsets: number[] = [];
  for (const [place, object] of objects.entries()) {
    offsets.push(file.length);
    file += `${place + 1} 0 obj\n${object}\nendobj\n`;
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
  return Buffer.from(file, "latin1");
}
