// Test files of a worker share its process and its shared applications. The jest environment (scripts/jest-environment.cjs)
// calls this module, so it must not import the application.
import { setTimeout as delay } from 'node:timers/promises';

/** How often, and with which delay in milliseconds, to look again for something that is ending, such as a closed server. */
const ATTEMPTS = 200;
const DELAY_MS = 25;

/** A clock that jest can replace. */
const CLOCK = { Date, setTimeout, setInterval, setImmediate, queueMicrotask, nextTick: process.nextTick };

/** Resources that a test must close: listening servers, and child processes. */
const RESOURCES: Record<string, string> = {
  TCPServerWrap: 'a listening server',
  PipeServerWrap: 'a listening server',
  ProcessWrap: 'a child process',
};

/** Events for which jest replaces listeners around each test, or libraries add listeners when they load. */
const OTHERS_EVENTS = ['uncaughtException', 'unhandledRejection', 'rejectionHandled', 'exit'];

type Counts = Record<string, number>;

/** Returns descriptions of what a file left behind. */
export type Check = () => Promise<string[]>;

let before: Counts = {};
let since = new Map<string, string>();
const checks = new Set<Check>();
let endings: (() => Promise<void>)[] = [];

/** Adds a check, which runs after this file. */
export function checkAfterFile(check: Check): void {
  checks.add(check);
}

/** Registers a function that runs at the end of this file, after its hooks. */
export function afterFile(ending: () => Promise<void>): void {
  endings.push(ending);
}

/** Begins a file. */
export function beginFile(): void {
  checks.clear();
  recordState();
}

/** Records the state before a file. Existing resources, such as the server of a shared application, belong to the worker. */
export function recordState(): void {
  before = observed();
  since = new Map();
}

/** Records the name of the test for each resource that it left open. */
export function endTest(name: string): void {
  const left = leftInProcess();
  since = new Map(left.map((one) => [one, since.get(one) ?? name]));
}

/** Ends the file. Throws an Error that names what it left behind, and the test that did. */
export async function endFile(attempts = ATTEMPTS): Promise<void> {
  const all = endings;
  endings = [];
  const errors: unknown[] = [];
  for (const ending of all.reverse()) await ending().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
  let left: string[] = [];
  for (let attempt = 0; attempt < attempts; attempt++) {
    left = leftInProcess();
    for (const check of checks) left.push(...(await check()));
    if (left.length === 0) return;
    await delay(DELAY_MS);
  }
  const described = left.map((one) => (since.has(one) ? `${one} (since the test "${since.get(one)}")` : one));
  throw new Error(`This file leaves something behind for the files after it: ${described.join('; ')}.`);
}

function leftInProcess(): string[] {
  const now = observed();
  return Object.keys(now).filter((name) => now[name]! > (before[name] ?? 0));
}

function observed(): Counts {
  const counts: Counts = {};
  const add = (name: string, count = 1) => (counts[name] = (counts[name] ?? 0) + count);
  const isFake =
    Object.entries(CLOCK).some(
      ([name, real]) => name !== 'nextTick' && Reflect.get(globalThis, name) !== real,
    ) || process.nextTick !== CLOCK.nextTick;
  if (isFake) add('a fake clock');
  for (const event of process.eventNames()) {
    if (!OTHERS_EVENTS.includes(String(event)))
      add(`a listener of ${String(event)} on process`, process.listenerCount(event));
  }
  for (const resource of process.getActiveResourcesInfo()) {
    if (RESOURCES[resource]) add(RESOURCES[resource]);
  }
  return counts;
}
