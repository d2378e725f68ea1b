/** Cases of numbers: every integer width at its bounds and one beyond, in query, path and body; floats. */
import { badFields, badParameters, got, type TranscoderCase } from "./transcoder-case.ts";

const two31 = 2n ** 31n;
const two63 = 2n ** 63n;

// Field, min, max: https://protobuf.dev/programming-guides/proto3/#scalar
const widths: readonly (readonly [string, bigint, bigint])[] = [
  ["int32", -two31, two31 - 1n],
  ["sint32", -two31, two31 - 1n],
  ["sfixed32", -two31, two31 - 1n],
  ["uint32", 0n, 2n * two31 - 1n],
  ["fixed32", 0n, 2n * two31 - 1n],
  ["int64", -two63, two63 - 1n],
  ["sint64", -two63, two63 - 1n],
  ["sfixed64", -two63, two63 - 1n],
  ["uint64", 0n, 2n * two63 - 1n],
  ["fixed64", 0n, 2n * two63 - 1n],
];

const isWide = (name: string) => name.endsWith("64");

/** ProtoJSON leaves out a zero and writes 64 bits as text. */
const received = (name: string, value: bigint) =>
  got("Measure", value === 0n ? {} : { [name]: isWide(name) ? String(value) : Number(value) });

const inQuery = widths.flatMap(([name, min, max]): TranscoderCase[] => [
  [`GET /v1/numbers?${name}=${min}`, received(name, min)],
  [`GET /v1/numbers?${name}=${max}`, received(name, max)],
  [`GET /v1/numbers?${name}=${min - 1n}`, badParameters(name)],
  [`GET /v1/numbers?${name}=${max + 1n}`, badParameters(name)],
]);

// A JSON number is a double to most readers: bodies end where doubles stop to be exact.
const exact = BigInt(Number.MAX_SAFE_INTEGER);

const inBody = widths.flatMap(([name, min, max]): TranscoderCase[] => {
  const from = min < -exact ? -exact : min;
  const to = max > exact ? exact : max;
  const body = (value: bigint) => `{"${name}":${value}}`;
  return [
    ["POST /v1/numbers", received(name, from), body(from)],
    ["POST /v1/numbers", received(name, to), body(to)],
    ["POST /v1/numbers", badFields(`invalid_field /${name}`), body(from - 1n)],
    ["POST /v1/numbers", badFields(`invalid_field /${name}`), body(to + 1n)],
  ];
});

const spellings: readonly TranscoderCase[] = [
  [
    "GET /v1/numbers/of/-2147483648/18446744073709551615",
    got("Measure", { sint32: -2147483648, fixed64: "18446744073709551615" }),
  ],
  ["GET /v1/numbers/of/-2147483649/-1", badParameters("sint32", "fixed64")],
  ["GET /v1/numbers/of/%31/%32", got("Measure", { sint32: 1, fixed64: "2" })],
  ["GET /v1/numbers/of/1/2?sint32=1", badParameters("sint32")],
  ["GET /v1/numbers?int32=-0", badParameters("int32")],
  ["GET /v1/numbers?int64=1e3", badParameters("int64")],
  ["GET /v1/numbers?int64=12n", badParameters("int64")],
  ["GET /v1/numbers?uint64=%2B1", badParameters("uint64")],
  ["GET /v1/numbers?int32=1+", badParameters("int32")],
  ["GET /v1/numbers?int32=%D9%A1", badParameters("int32")],
  ["GET /v1/numbers?float=1.5&double=-0.1", got("Measure", { float: 1.5, double: -0.1 })],
  ["GET /v1/numbers?float=NaN&double=NaN", got("Measure", { float: "NaN", double: "NaN" })],
  ["GET /v1/numbers?float=Infinity&double=-Infinity", got("Measure", { float: "Infinity", double: "-Infinity" })],
  ["GET /v1/numbers?float=inf&double=nan", badParameters("float", "double")],
  ["GET /v1/numbers?double=1.7976931348623157e308", got("Measure", { double: Number.MAX_VALUE })],
  ["GET /v1/numbers?double=1.8e308", badParameters("double")],
  ["GET /v1/numbers?double=5e-324", got("Measure", { double: 5e-324 })],
  ["GET /v1/numbers?float=3.5e38", badParameters("float")],
  ["GET /v1/numbers?double=.5", badParameters("double")],
  ["GET /v1/numbers?double=1,5", badParameters("double")],
  ["GET /v1/numbers?double=", badParameters("double")],
  [
    "POST /v1/numbers",
    got("Measure", { int32: 4900, int64: "4900", double: 4900 }),
    '{"int32":4.9e3,"int64":4900.00,"double":49e2}',
  ],
  ["POST /v1/numbers", got("Measure", { float: "NaN", double: "-Infinity" }), { float: "NaN", double: "-Infinity" }],
  ["POST /v1/numbers", badFields("invalid_field /float", "invalid_field /double"), { float: "nan", double: "1.5" }],
  ["POST /v1/numbers", badFields("invalid_field /float", "invalid_field /double"), '{"float":1e39,"double":1e309}'],
  ["POST /v1/numbers", badFields("invalid_field /int32", "invalid_field /uint64"), { int32: "1", uint64: "1" }],
];

/** Numbers of every kind, where a query or a body may spell them well or wrongly. */
export const numberCases: readonly TranscoderCase[] = [...inQuery, ...inBody, ...spellings];
