// The entry of every thread of a `WorkerPool`. It calls the tasks that the file in `workerData` exports.
import os from 'node:os';
import { pathToFileURL } from 'node:url';
import { parentPort, type Transferable, workerData } from 'node:worker_threads';

type Tasks = Record<string, (input: unknown) => unknown>;

/** A message to the thread: a call of a task. */
export interface ThreadTask {
  name: string;
  input: unknown;
}

/** The answer of the thread. Before the first one, the thread sends an empty message when it has loaded the tasks. */
export type ThreadReply = { result: unknown } | { error: unknown };

/** Where there are fewer cores than threads, a thread then has half of the event loop's weight. */
const NICENESS = 3;
const port = parentPort!;
const { file } = workerData as { file: string };

try {
  // on Linux this is the priority of the thread alone, elsewhere of the process
  if (process.platform === 'linux') os.setPriority(NICENESS);
} catch {
  // a sandbox forbids it: the event loop has to share its core
}

// the output of tasks would mix with the logs of the process
for (const stream of [process.stdout, process.stderr]) stream.write = () => true;

void (import(pathToFileURL(file).href) as Promise<Tasks>).then((tasks) => {
  port.on('message', (task: ThreadTask) => void perform(tasks, task));
  port.postMessage(null);
});

async function perform(tasks: Tasks, { name, input }: ThreadTask): Promise<void> {
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

/** Finds the typed arrays within a result. A Buffer may share its memory with others, so it stays. */
function buffersOf(value: unknown, found = new Set<ArrayBufferLike>()): Set<ArrayBufferLike> {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return found;
  if (ArrayBuffer.isView(value)) return found.add(value.buffer);
  for (const member of Object.values(value)) buffersOf(member, found);
  return found;
}
