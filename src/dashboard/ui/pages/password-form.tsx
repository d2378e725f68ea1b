/** Changes the member's password. */
import { useMutation } from "@tanstack/react-query";
import { Form } from "react-aria-components/Form";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Button } from "../parts/button.tsx";
import { NewPasswordField } from "../parts/new-password-field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Username } from "../parts/username.tsx";
import { useSignIn } from "../signed-in.tsx";
import { useClient } from "../use-client.ts";

export function PasswordForm() {
  const { member } = useSignIn();
  const client = useClient(SignInService);
  const change = useMutation({
    mutationFn: (newPassword: string) => client.changePassword({ newPassword }),
  });
  const submit = (form: HTMLFormElement) => {
    const newPassword = String(new FormData(form).get("newPassword"));
    change.mutate(newPassword, { onSuccess: () => form.reset() });
  };
  return (
    <section className="card" aria-labelledby="password">
      <h2 id="password">Password</h2>
      <Refusal error={change.error} />
      {change.data && (
        <p className="banner" data-tone="good" role="status">
          The password is changed. {change.data.endedSignIns} other sign-ins were ended.
        </p>
      )}
      <Form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.currentTarget);
        }}
      >
        <Username email={member?.email} />
        <NewPasswordField label="New password" name="newPassword" />
        <div>
          <Button type="submit" isPending={change.isPending}>
            Change password
          </Button>
        </div>
      </Form>
    </section>
  );
}
