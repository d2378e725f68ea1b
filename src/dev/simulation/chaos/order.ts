/** The answers that a shop and its customer get about an order, as the record is filled in. */
import type { OrderRecord } from "./records.ts";

export type Order = { -readonly [Key in keyof OrderRecord]: OrderRecord[Key] } & {
  created: string[];
  heard: string[];
  refunded: string[];
  captures: number[];
  /** True while another session pays the order: the customer looks again. */
  isElsewhere?: boolean | undefined;
  asked?: string | undefined;
};

export function newOrder(orderRef: string, key: string): Order {
  return {
    orderRef,
    key,
    created: [],
    submitted: false,
    heard: [],
    refunded: [],
    heldVia: undefined,
    captures: [],
    captured: undefined,
    cancelled: false,
  };
}
