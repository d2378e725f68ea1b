/** A switch with its name and description. */

/** The switch itself; the caller provides the list or section around it. */
export function Switch(props: {
  name: string;
  detail: string;
  isOn: boolean;
  isDisabled: boolean;
  onChange: (isOn: boolean) => void;
}) {
  const { name, detail, isOn, isDisabled, onChange } = props;
  return (
    <label className="switch">
      <input
        type="checkbox"
        role="switch"
        checked={isOn}
        aria-checked={isOn}
        disabled={isDisabled}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span>
        <strong>{name}</strong>
        <span className="soft small">{detail}</span>
      </span>
    </label>
  );
}
