import { randomFillSync } from 'node:crypto';

/** The prefixes of identifiers, one for each kind of resource. */
// oxfmt-ignore
export type IdPrefix =
  | 'org' | 'usr' | 'sva' | 'key' | 'wsp' | 'app' | 'repo' | 'api' | 'agt' | 'ses' | 'msg' | 'skl' | 'file'
  | 'mcps' | 'tool' | 'ds' | 'rec' | 'exp' | 'res' | 'scr' | 'run' | 'rule' | 'score' | 'item' | 'rel' | 'pub' | 'prov'
  | 'model' | 'ver' | 'aud' | 'acq' | 'sig' | 'mcpr' | 'batch' | 'queue' | 'qitem' | 'gate' | 'era';

/** The prefix of each id that contains the time of creation, by the member that holds it. */
export const ID_PREFIXES: Readonly<Record<string, IdPrefix>> = {
  org_id: 'org',
  service_account_id: 'sva',
  key_id: 'key',
  workspace_id: 'wsp',
  app_id: 'app',
  repo_id: 'repo',
  api_id: 'api',
  agent_id: 'agt',
  session_id: 'ses',
  skill_id: 'skl',
  file_id: 'file',
  server_id: 'mcps',
  tool_id: 'tool',
  dataset_id: 'ds',
  dataset_record_id: 'rec',
  experiment_id: 'exp',
  result_id: 'res',
  scorer_id: 'scr',
  score_run_id: 'run',
  rule_id: 'rule',
  score_id: 'score',
  store_item_id: 'item',
  release_id: 'rel',
  provider_id: 'prov',
  model_id: 'model',
  audit_entry_id: 'aud',
  acquisition_id: 'acq',
  score_batch_id: 'batch',
  queue_id: 'queue',
  item_id: 'qitem',
  gate_check_id: 'gate',
  erasure_id: 'era',
};

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** 128 bits in 26 characters: the first one has only three. */
const ENCODED = new RegExp(`^[0-7][${ALPHABET}]{25}$`);

/** The latest time that an identifier can contain. */
const MILLIS_MAX = 2 ** 48 - 1;

/** A buffer of random bytes, because calling the system's generator for each id would cost five times as much as the rest. */
const randomness = Buffer.alloc(4096);
let drawn = randomness.length;

const bytes = new Uint8Array(16);
let lastMillis = 0;
let counter = 0;

/** Makes sure that this many bytes can be drawn. */
function refill(count: number): void {
  if (drawn + count <= randomness.length) return;
  randomFillSync(randomness);
  drawn = 0;
}

/** Returns random bytes as hexadecimal digits, for example for a trace id. @param count number of bytes, at most 64 */
export function randomHex(count: number): string {
  refill(count);
  drawn += count;
  return randomness.toString('hex', drawn - count, drawn);
}

/**
 * Writes a UUIDv7 (RFC 9562, section 5.7) into `bytes`. `rand_a` is a counter (section 6.2, method 1), so that the ids
 * of one process sort by creation, even within a millisecond.
 */
function nextUuid(): void {
  refill(10);
  const now = Date.now();
  if (now > lastMillis) {
    lastMillis = now;
    counter = ((randomness[drawn]! & 0x07) << 8) | randomness[drawn + 1]!;
  } else if (++counter > 0x0fff) {
    lastMillis += 1;
    counter = 0;
  }
  const high = Math.floor(lastMillis / 0x1_0000_0000);
  const low = lastMillis >>> 0;
  bytes[0] = high >>> 8;
  bytes[1] = high;
  bytes[2] = low >>> 24;
  bytes[3] = low >>> 16;
  bytes[4] = low >>> 8;
  bytes[5] = low;
  bytes[6] = 0x70 | (counter >>> 8);
  bytes[7] = counter;
  for (let i = 8; i < 16; i++) bytes[i] = randomness[drawn + i - 6]!;
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  drawn += 10;
}

/**
 * Creates an identifier: a TypeID (specification 0.3) of a prefix, `_`, and a UUIDv7 in 26 characters of Crockford base32.
 */
export function newId(prefix: IdPrefix): string {
  nextUuid();
  return encode(prefix, bytes);
}

/** Tells whether a text is a well-formed identifier of a kind, which may not exist. */
export const isId = (prefix: IdPrefix, text: string): boolean =>
  text.length === prefix.length + 27 && text.startsWith(`${prefix}_`) && ENCODED.test(text.slice(-26));

/**
 * Returns the lower bound of all identifiers created at or after a time.
 *
 * @param millis milliseconds since 1970
 */
export function firstIdAt(prefix: IdPrefix, millis: number): string {
  const least = Buffer.alloc(16);
  least.writeUIntBE(Math.min(Math.max(millis, 0), MILLIS_MAX), 0, 6);
  return encode(prefix, least);
}

function encode(prefix: IdPrefix, uuid: Uint8Array): string {
  let text = `${prefix}_`;
  let buffered = 0;
  // 128 bits in 26 groups of five bits: the first group begins with two zero bits
  let bufferedBits = 2;
  for (const byte of uuid) {
    buffered = (buffered << 8) | byte;
    bufferedBits += 8;
    while (bufferedBits >= 5) {
      bufferedBits -= 5;
      text += ALPHABET.charAt((buffered >>> bufferedBits) & 31);
    }
    buffered &= (1 << bufferedBits) - 1;
  }
  return text;
}
