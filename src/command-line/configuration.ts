/** `switchyard configuration`: lists every setting, for a person, a program or the documentation. */
import { type Command, Option } from "commander";
import { allSettings } from "../config/all-settings.ts";
import { describeSetting, renderSettingsPage } from "../config/settings-page.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print, table } from "./output.ts";

const roles = ["edge", "worker", "dashboard", "vault", "sandbox", "commands"] as const;

type ConfigurationOptions = OutputOptions & { readonly markdown?: true; readonly role?: (typeof roles)[number] };

/** Prints the settings. It does not read their values. */
export function configurationCommand(): Command {
  return describedCommand("configuration", {
    example: "switchyard configuration --role vault",
  })
    .addOption(new Option("--role <role>", "only settings that this role reads").choices(roles))
    .option("--markdown", "print the page docs/configuration.md")
    .action((options: ConfigurationOptions) => {
      if (options.markdown) {
        process.stdout.write(renderSettingsPage());
        return;
      }
      const { role } = options;
      const settings = allSettings.filter((setting) => role === undefined || setting.roles.includes(role));
      print(options, { settings: settings.map(describeSetting) }, (answer) =>
        table(
          ["variable", "default", "description"],
          answer.settings.map((setting) => [
            setting.name,
            setting.default ?? (setting.required === "always" ? "required" : "none"),
            setting.about,
          ]),
          "No setting belongs to this role.",
        ),
      );
    });
}
