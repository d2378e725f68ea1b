/** The currency of a chart: one at a time, because two share no axis. */

export function CurrencyChoice(props: {
  currencies: readonly string[];
  value: string;
  onChange: (currency: string) => void;
}) {
  return (
    <select
      aria-label="Currency of the chart"
      value={props.value}
      onChange={({ target }) => props.onChange(target.value)}
    >
      {props.currencies.map((currency) => (
        <option key={currency}>{currency}</option>
      ))}
    </select>
  );
}
