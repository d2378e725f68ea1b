/** An esbuild plugin that minifies the form's style sheet, which to the bundler is only a long string. */

import { type Plugin, transform } from "esbuild";
import { formStyle } from "./form-style.ts";

// The first browsers of the widget (bundle.ts), as esbuild names them.
const target = ["chrome94", "firefox93", "safari15.4"];

/** Puts the style sheet into the bundle without spaces and comments. */
export const minifiedStyle: Plugin = {
  name: "minified-style",
  setup(build) {
    build.onLoad({ filter: /\/form-style\.ts$/ }, async () => {
      const { code } = await transform(formStyle, { loader: "css", minify: true, charset: "utf8", target });
      return { contents: `export const formStyle = ${JSON.stringify(code.trim())};` };
    });
  },
};
