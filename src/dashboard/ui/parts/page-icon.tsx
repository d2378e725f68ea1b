/** Line drawings beside the names of pages in the navigation. They say nothing that the name does not. */

const paths = {
  home: "M3 9.5 10 3.5l7 6M5 8v8.5h10V8M8.5 16.5v-5h3v5",
  payments: "M2.5 5h15v10.5h-15zM2.5 8.5h15M5 12.5h3.5",
  refunds: "M7.5 4 3.5 8l4 4M3.5 8h8.5a4.5 4.5 0 0 1 0 9H7",
  ledger: "M4 2.5h11.5v15H4zM4 6.5h11.5M8 6.5v11M10.5 10h2.5M10.5 13.5h2.5",
  payouts: "M3 7.5h14v9H3zM3 7.5l2-4h10l2 4M10 10v4M8 12.3l2 2 2-2",
  settlement: "M3 5h8M3 10h5M3 15h5M10.5 13l2.5 2.5 4.5-6",
  analytics: "M3 3v14h14M6.5 13.5v-3M10 13.5V6.5M13.5 13.5V9",
  routing:
    "M4 5h3c3.5 0 2.5 10 6 10h3M4 15h3c1.4 0 2-1.6 2.5-3.5M13.5 5H16M14 2.8 16.5 5 14 7.2M14 12.8l2.5 2.2-2.5 2.2",
  gateways: "M3 8 10 3.5 17 8zM4.5 10.5v4M8.2 10.5v4M11.8 10.5v4M15.5 10.5v4M3 17h14",
  webhooks:
    "M7.5 12.5 4 16M12.5 7.5 16 4M6 9.5l4.5 4.5-1.8 1.8a3.2 3.2 0 0 1-4.5-4.5zM14 10.5 9.5 6l1.8-1.8a3.2 3.2 0 0 1 4.5 4.5z",
  wallets: "M3 5.5h12.5v11H3zM3 5.5 13 3v2.5M12 9.5h4.5v3.5H12z",
  keys: "M9.8 10.2 16.5 3.5M14 6l2 2M7 16.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z",
  team: "M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 16.5c0-3 2.2-5 5.5-5s5.5 2 5.5 5M12.5 3.8a3 3 0 0 1 0 5.4M15 12c1.9.7 3 2.3 3 4.5",
  audit: "M5 2.5h10v15H5zM7.5 6.5h5M7.5 10h5M7.5 13.5h3",
  settings: "M3 6h7M14 6h3M3 14h3M10 14h7M12 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
} as const;

export function PageIcon({ page }: { page: keyof typeof paths }) {
  return (
    <svg
      viewBox="0 0 20 20"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={paths[page]} />
    </svg>
  );
}
