/** Forms of attacks that apply to any operation. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Attacker } from './attacker';
import { filled, MIB } from './prepared';

/** A request to an operation. */
export interface Target {
  method: string;
  path: string;
  /** Media type of its body; undefined if the operation accepts no body. */
  type?: string;
}

/** The size of an attack. */
export interface ShapeSize {
  bytes: number;
  /** Concurrent connections or requests. */
  count: number;
}

type Shape = (attacker: Attacker, target: Target, size: ShapeSize) => Promise<unknown>;

const HOLD_MS = 300;
const DRIPS = 5;

const head = (attacker: Attacker, { method, path, type }: Target, length?: number): string =>
  [
    `${method} ${path} HTTP/1.1`,
    ...Object.entries({
      ...attacker.headers,
      ...(type !== undefined && { 'content-type': type }),
      ...(length !== undefined && { 'content-length': String(length) }),
    }).map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join('\r\n');

const times = (count: number, send: (n: number) => Promise<unknown>): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, (_, n) => send(n)));

/** Sends an ordinary request, with the body if the operation accepts one. */
const send = (attacker: Attacker, { method, path, type }: Target, body: Buffer | string): Promise<unknown> =>
  attacker.send(method, path, type === undefined ? {} : { body, type });

export const SHAPES: Readonly<Record<string, Shape>> = {
  /** One long text in the body, or in the query. */
  huge: (attacker, target, { bytes }) =>
    target.type === undefined
      ? send(attacker, { ...target, path: `${target.path}?q=${'%20'.repeat(4_000)}` }, '')
      : send(
          attacker,
          target,
          filled(bytes, '{"name":"', () => 'x'.repeat(1024), '"}'),
        ),

  deep: (attacker, target, { bytes }) =>
    send(attacker, { type: 'application/json', ...target }, Buffer.alloc(bytes, '{"a":[')),

  wide: (attacker, target, { bytes }) =>
    send(
      attacker,
      { type: 'application/json', ...target },
      filled(bytes, '{', (n) => `"m${n}":${n},`, '}'),
    ),

  /** A body whose end never arrives, or a request whose headers never end. */
  slow: async (attacker, target, { bytes, count }) => {
    await attacker.hold(count, 0, () => {
      const connection = attacker.connect(head(attacker, target, bytes));
      connection.write(Buffer.alloc(bytes - DRIPS - 1, ' '));
      void (async () => {
        for (let n = 0; n < DRIPS; n++) {
          await delay(HOLD_MS / DRIPS);
          connection.write(' ');
        }
      })();
      return connection;
    });
    await delay(HOLD_MS);
  },

  unread: (attacker, target, { count }) =>
    attacker.hold(count, HOLD_MS, () => attacker.connect(head(attacker, target, 0), { reads: false })),

  pipelined: async (attacker, target, { count }) => {
    const connection = attacker.connect(head(attacker, target, 0).repeat(count));
    await connection.waitForResponses(count, 60_000);
    connection.close();
  },

  concurrent: (attacker, target, { bytes, count }) => {
    const body = filled(bytes / 8, '{"name":[', (n) => `${n},`, ']}');
    return times(count, () => send(attacker, target, body));
  },

  aborted: (attacker, { method, path, type }, { bytes, count }) =>
    times(count, (n) =>
      attacker.send(method, path, {
        headers: { 'content-length': String(bytes), ...(type !== undefined && { 'content-type': type }) },
        write: (request) => {
          request.write(Buffer.alloc(Math.floor((bytes * n) / count), ' '));
          setTimeout(() => request.destroy(), 2 * n);
        },
      }),
    ),
};

/** Sizes of bodies, in bytes. The last one exceeds the maximum. */
export const SHAPE_BYTES = [64 * 1024, MIB, 5 * MIB];
