/** A real DNS server on loopback whose answers a test decides: addresses, aliases, no such name, or silence. */
import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/** Records of a name. `alias` is the last name of a chain, which has the addresses. */
type NameRecords = {
  readonly A?: readonly string[];
  readonly AAAA?: readonly string[];
  readonly alias?: string;
};

/** The answer about a name: records, that it does not exist, a server failure, or silence. */
export type NameAnswer = NameRecords | "no such name" | "server failure" | "silence";

export type NameQuestion = { readonly name: string; readonly type: "A" | "AAAA" | "other" };

const typeNumbers = { A: 1, CNAME: 5, AAAA: 28 } as const;
const replyCodes = { "no such name": 3, "server failure": 2 } as const;

/** Make it with `NameServer.start()` and close it at the test's end. */
export class NameServer {
  readonly questions: NameQuestion[] = [];
  readonly #socket: Socket;
  #answer: (question: NameQuestion) => NameAnswer = () => "no such name";

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("message", (message, from) => this.#receive(message, from));
  }

  static async start(): Promise<NameServer> {
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    return new NameServer(socket);
  }

  /** The address in the form that resolvers expect. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  answerWith(answer: NameAnswer | ((question: NameQuestion) => NameAnswer)): void {
    this.#answer = typeof answer === "function" ? answer : () => answer;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(resolve));
  }

  #receive(message: Buffer, from: RemoteInfo): void {
    const { question, bytes } = readQuestion(message);
    this.questions.push(question);
    const answer = this.#answer(question);
    if (answer === "silence") return;
    const records = typeof answer === "string" ? [] : writeRecords(question, answer);
    const code = typeof answer === "string" ? replyCodes[answer] : 0;
    const head = Buffer.alloc(12);
    message.copy(head, 0, 0, 2);
    // A response, recursion desired and available.
    head.writeUInt16BE(0x8180 | code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    this.#socket.send(Buffer.concat([head, bytes, ...records]), from.port, from.address);
  }
}

function readQuestion(message: Buffer): { question: NameQuestion; bytes: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const number = message.readUInt16BE(at + 1);
  const type = number === typeNumbers.A ? "A" : number === typeNumbers.AAAA ? "AAAA" : "other";
  return { question: { name: labels.join(".").toLowerCase(), type }, bytes: message.subarray(12, at + 5) };
}

function writeRecords({ name, type }: NameQuestion, records: NameRecords): Buffer[] {
  const addresses = (type === "other" ? [] : records[type]) ?? [];
  const owner = records.alias ?? name;
  const alias = records.alias === undefined ? [] : [writeRecord(name, typeNumbers.CNAME, writeName(records.alias))];
  return [...alias, ...addresses.map((address) => writeAddress(owner, address))];
}

function writeAddress(owner: string, address: string): Buffer {
  const bytes = Buffer.from(ipaddr.parse(address).toByteArray());
  return writeRecord(owner, isIPv4(address) ? typeNumbers.A : typeNumbers.AAAA, bytes);
}

function writeRecord(owner: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  // The time to live is 0: the next look-up asks again.
  fixed.writeUInt32BE(0, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([writeName(owner), fixed, data]);
}

function writeName(name: string): Buffer {
  return Buffer.concat([
    ...name.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, "latin1")])),
    Buffer.from([0]),
  ]);
}
