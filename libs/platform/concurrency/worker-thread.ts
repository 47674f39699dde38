// The entry of every thread of a `WorkerPool`. It calls the tasks that files export.
import os from 'node:os';
import { pathToFileURL } from 'node:url';
import { parentPort, type Transferable } from 'node:worker_threads';

type Tasks = Record<string, (input: unknown) => unknown>;

/** A message to the thread: a call of a task. */
export interface ThreadTask {
  /** The compiled file that exports the task. */
  file: string;
  name: string;
  input: unknown;
}

/** The reply of the thread. Before it, the thread sends null when it has loaded the file and begins the task. */
export type ThreadReply = { result: unknown } | { error: unknown };

/** Gives a thread half the scheduling weight of the event loop, for machines with fewer cores than threads. */
const NICENESS = 3;
const port = parentPort!;

try {
  // on Linux this sets the priority of the thread only; elsewhere it would set the priority of the process
  if (process.platform === 'linux') os.setPriority(NICENESS);
} catch {
  // a sandbox forbids it, so the event loop shares its core
}

// the output of tasks would mix with the logs of the process
for (const stream of [process.stdout, process.stderr]) stream.write = () => true;

port.on('message', (task: ThreadTask) => void perform(task));

async function perform({ file, name, input }: ThreadTask): Promise<void> {
  const tasks = (await import(pathToFileURL(file).href)) as Tasks;
  port.postMessage(null);
  try {
    const task = tasks[name];
    if (!task) throw new Error(`${file} exports no task ${name}.`);
    const result = await task(input);
    // typed arrays are moved instead of copied
    port.postMessage({ result } satisfies ThreadReply, [...buffersOf(result)] as Transferable[]);
  } catch (error) {
    port.postMessage({ error } satisfies ThreadReply);
  }
}

/** Returns the buffers of the typed arrays in a result. Skips a Buffer, because it may share its memory with others. */
function buffersOf(value: unknown, buffers = new Set<ArrayBufferLike>()): Set<ArrayBufferLike> {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return buffers;
  if (ArrayBuffer.isView(value)) return buffers.add(value.buffer);
  for (const member of Object.values(value)) buffersOf(member, buffers);
  return buffers;
}
