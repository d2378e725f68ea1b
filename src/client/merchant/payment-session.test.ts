import type { DescMessage, Message, MessageJsonType, MessageShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { describe, expectTypeOf, it } from "vitest";
import type { ListDisputesRequestSchema, ListDisputesResponseSchema } from "../../../gen/payments/v1/dispute_pb.ts";
import type * as schema from "../../../gen/payments/v1/payment_session_pb.ts";
import type * as ours from "./payment-session.ts";

/** A message as public JSON: ProtoJSON with 64-bit integers as numbers, and no value that says "unspecified". */
type PublicJson<Shape, Json> = Shape extends bigint
  ? number
  : Shape extends Timestamp
    ? string
    : Shape extends readonly (infer Each)[]
      ? readonly PublicJson<Each, Json extends readonly (infer EachJson)[] ? EachJson : never>[]
      : Shape extends Message
        ? { readonly [Key in keyof Json & keyof Shape]-?: PublicJson<NonNullable<Shape[Key]>, NonNullable<Json[Key]>> }
        : Shape extends boolean
          ? boolean
          : Exclude<Json, `${string}_UNSPECIFIED`>;

type Public<Schema extends DescMessage> = PublicJson<MessageShape<Schema>, MessageJsonType<Schema>>;

/** Every path to a value, such as `attempts.next.action`; the vault's members depend on its mode, so it is a leaf. */
type Paths<Value> = Value extends readonly (infer Each)[]
  ? Paths<Each>
  : Value extends object
    ? { [Key in keyof Value & string]-?: Key | (Key extends "vault" ? never : Nested<Key, Value[Key]>) }[keyof Value &
        string]
    : never;
type Nested<Key extends string, Value> = `${Key}.${Paths<NonNullable<Value>> & string}`;

/** The same type with every optional member required. */
type Whole<Value> = Value extends readonly (infer Each)[]
  ? readonly Whole<Each>[]
  : Value extends object
    ? { readonly [Key in keyof Value]-?: Whole<NonNullable<Value[Key]>> }
    : Value;

type OptionalKeys<Value> = {
  [Key in keyof Value]-?: Record<never, never> extends Pick<Value, Key> ? Key : never;
}[keyof Value];
type OptionalIn<Schema extends DescMessage> = Exclude<OptionalKeys<MessageShape<Schema>>, "$unknown">;

type New = typeof schema.CreatePaymentSessionRequestSchema;
type Created = typeof schema.CreatePaymentSessionResponseSchema;
type Session = typeof schema.PaymentSessionSchema;
type Summary = typeof schema.PaymentSessionSummarySchema;
type Attempt = typeof schema.AttemptSchema;
type Authentication = typeof schema.AuthenticationSchema;
type Filters = typeof schema.ListPaymentSessionsRequestSchema;
type Page = typeof schema.ListPaymentSessionsResponseSchema;

// These tests fail under tsc: vitest runs the lines without checking their types.
describe("the client's types", () => {
  it("have the fields of the schemas, and no others", () => {
    expectTypeOf<Paths<ours.NewPaymentSession>>().toEqualTypeOf<Paths<Public<New>>>();
    expectTypeOf<Paths<ours.CreatedPaymentSession>>().toEqualTypeOf<Paths<Public<Created>>>();
    expectTypeOf<Paths<ours.PaymentSession>>().toEqualTypeOf<Paths<Public<Session>>>();
    expectTypeOf<Paths<ours.PaymentSessionSummary>>().toEqualTypeOf<Paths<Public<Summary>>>();
    expectTypeOf<Paths<ours.SessionPage>>().toEqualTypeOf<Paths<Public<Page>>>();
    expectTypeOf<keyof ours.SessionFilters | "pageToken">().toEqualTypeOf<keyof Public<Filters>>();
    expectTypeOf<Paths<ours.DisputePage>>().toEqualTypeOf<Paths<Public<typeof ListDisputesResponseSchema>>>();
    type DisputeFilters = Public<typeof ListDisputesRequestSchema>;
    expectTypeOf<keyof ours.DisputeFilters | "pageToken">().toEqualTypeOf<keyof DisputeFilters>();
  });

  it("give each field the schema's type, or a narrower one", () => {
    expectTypeOf<Whole<ours.NewPaymentSession>>().toExtend<Public<New>>();
    expectTypeOf<Whole<Omit<ours.CreatedPaymentSession, "vault">>>().toExtend<Omit<Public<Created>, "vault">>();
    expectTypeOf<Whole<ours.PaymentSession>>().toExtend<Public<Session>>();
    expectTypeOf<Whole<ours.SessionPage>>().toExtend<Public<Page>>();
  });

  it("know every value of the schema's enums", () => {
    expectTypeOf<ours.SessionStatus>().toEqualTypeOf<Public<Session>["status"]>();
    expectTypeOf<ours.AttemptStatus>().toEqualTypeOf<Public<Attempt>["status"]>();
    expectTypeOf<ours.FailureKind>().toEqualTypeOf<Public<Attempt>["failureKind"]>();
    expectTypeOf<ours.AuthenticationStatus>().toEqualTypeOf<Public<Authentication>["status"]>();
  });

  // The schema's type has every list; the answer leaves one out that has to have an item.
  it("leave out what the schema allows to be absent, except times and members that are always present", () => {
    expectTypeOf<OptionalKeys<ours.CreatedPaymentSession>>().toEqualTypeOf<
      Exclude<OptionalIn<Created>, "expiresAt" | "vault">
    >();
    expectTypeOf<OptionalKeys<ours.PaymentSession>>().toEqualTypeOf<
      Exclude<OptionalIn<Session>, "createdAt" | "expiresAt"> | "disputes"
    >();
    expectTypeOf<OptionalKeys<ours.PaymentAttempt>>().toEqualTypeOf<Exclude<OptionalIn<Attempt>, "startedAt">>();
    expectTypeOf<OptionalKeys<ours.PaymentAuthentication>>().toEqualTypeOf<
      Exclude<OptionalIn<Authentication>, "startedAt">
    >();
    expectTypeOf<OptionalKeys<ours.Refund>>().toEqualTypeOf<
      Exclude<OptionalIn<typeof schema.RefundSchema>, "createdAt">
    >();
    expectTypeOf<OptionalKeys<ours.Routing>>().toEqualTypeOf<OptionalIn<typeof schema.RoutingSchema>>();
  });
});
