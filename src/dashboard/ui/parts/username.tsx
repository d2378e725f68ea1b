/** The account of a password form, for password managers; the page shows it elsewhere to people. */

/** The hidden field, which must be inside the form. */
export function Username({ email }: { email: string | undefined }) {
  return <input type="text" name="username" autoComplete="username" value={email ?? ""} readOnly hidden />;
}
