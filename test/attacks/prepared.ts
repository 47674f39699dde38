/** Preparations of attacks: resources, bodies of a given size, exports. */
import { randomBytes } from 'node:crypto';
import { attribute, bytes, fixed64, IDS, request, span, varint } from '../../libs/testing/otlp-bytes';
import type { Attacker } from './attacker';

export const KIB = 1024;
export const MIB = 1024 * KIB;
/** The largest page of a list. */
export const PAGE_BYTES = 17_000_000;
/** The maximum size of a JSON body. */
export const BODY_BYTES = 4 * MIB;

/** The maximum number of items in a bulk write. */
const BULK = 100;

const newName = (): string => `attack ${randomBytes(6).toString('hex')}`;

/** Creates a dataset, and returns its id. */
export async function newDataset(attacker: Attacker, members: object = {}): Promise<string> {
  const body = { workspace_id: attacker.target.workspaceId, name: newName(), ...members };
  return (await attacker.prepare<{ dataset_id: string }>('POST', '/eval/v1/datasets', body)).dataset_id;
}

/** Creates a dataset with this many records of this size. */
export async function filledDataset(attacker: Attacker, records: number, size: number): Promise<string> {
  const dataset = await newDataset(attacker);
  const { workspaceId: workspace_id } = attacker.target;
  const items = Array.from({ length: BULK }, () => ({ input: 'x'.repeat(size) }));
  for (let sent = 0; sent < records; sent += BULK) {
    await attacker.prepare('POST', `/eval/v1/datasets/${dataset}/records/bulk`, { workspace_id, items });
  }
  return dataset;
}

export async function newExperiment(attacker: Attacker, members: object = {}): Promise<string> {
  const body = { workspace_id: attacker.target.workspaceId, name: newName(), ...members };
  return (await attacker.prepare<{ experiment_id: string }>('POST', '/eval/v1/experiments', body))
    .experiment_id;
}

/** Creates a code scorer, and returns its id. */
export async function newScorer(attacker: Attacker, source: string, timeout_ms: number): Promise<string> {
  const definition = { language: 'javascript', source, timeout_ms };
  const { workspaceId: workspace_id } = attacker.target;
  const body = { workspace_id, name: newName(), scorer_kind: 'code', definition };
  return (await attacker.prepare<{ scorer_id: string }>('POST', '/eval/v1/scorers', body)).scorer_id;
}

/** Returns an export of a trace with one span. */
export function traceExport(input: string): { traceId: string; body: object } {
  const traceId = randomBytes(16).toString('hex');
  const startTimeUnixNano = `${BigInt(Date.now()) * 1_000_000n}`;
  const attributes = [{ key: 'input.value', value: { stringValue: input } }];
  const own = { traceId, spanId: randomBytes(8).toString('hex'), name: 'step', attributes };
  const spans = [{ ...own, startTimeUnixNano, endTimeUnixNano: startTimeUnixNano }];
  return { traceId, body: { resourceSpans: [{ scopeSpans: [{ spans }] }] } };
}

/** Stores a trace, and returns its id. */
export async function newTrace(attacker: Attacker, input = 'question'): Promise<string> {
  const { traceId, body } = traceExport(input);
  await attacker.prepare('POST', '/telemetry/v1/traces', body);
  return traceId;
}

/** Returns a JSON text of about `size` bytes: the beginning, as many members or items as fit, and the end. */
export function filled(size: number, begin: string, part: (n: number) => string, end: string): Buffer {
  const room = size - begin.length - end.length;
  const parts: string[] = [];
  let length = 0;
  for (let n = 0; ; n++) {
    const one = part(n);
    if (length + one.length > room) break;
    parts.push(one);
    length += one.length;
  }
  return Buffer.from(`${begin}${parts.join('').replace(/,$/, '')}${end}`);
}

/** Returns an export of one span with this many attributes, of 13 bytes each. */
export function exported(attributes: number): Buffer {
  const time = BigInt(Date.now()) * 1_000_000n;
  const one = (n: number): Buffer => attribute(n.toString(36).padStart(5, 'k'), varint(3, 1));
  const all = Array.from({ length: attributes }, (_, n) => one(n));
  return request(span(...IDS, bytes(5, 'wide'), fixed64(7, time), fixed64(8, time), Buffer.concat(all)));
}
