/** Whose password a form asks for, for password managers; a person sees it elsewhere on the page. */

/** Take care that it stands inside the form. */
export function Username({ email }: { email: string | undefined }) {
  return <input type="text" name="username" autoComplete="username" value={email ?? ""} readOnly hidden />;
}
