/** An esbuild plugin that minifies the form's style sheet, which the bundler sees only as a long string. */

import { type Plugin, transform } from "esbuild";
import { formStyle } from "./form-style.ts";

// The oldest supported browsers (bundle.ts), by esbuild's names.
const target = ["chrome94", "firefox93", "safari15.4"];

/** Strips spaces and comments of the style sheet. */
export const minifiedStyle: Plugin = {
  name: "minified-style",
  setup(build) {
    build.onLoad({ filter: /\/form-style\.ts$/ }, async () => {
      const { code } = await transform(formStyle, { loader: "css", minify: true, charset: "utf8", target });
      return { contents: `export const formStyle = ${JSON.stringify(code.trim())};` };
    });
  },
};
