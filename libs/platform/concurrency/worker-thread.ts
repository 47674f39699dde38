// The entry of every thread of a `WorkerPool`. It calls the tasks that the file in `workerData` exports.
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';

type Tasks = Record<string, (input: unknown) => unknown>;

/** A call of a task. The thread sends its number to the pool when it begins the task. */
export interface ThreadTask {
  id: number;
  name: string;
  input: unknown;
}

const { file } = workerData as { file: string };
let tasks: Promise<Tasks> | undefined;

export default async function runTask({ id, name, input }: ThreadTask): Promise<unknown> {
  tasks ??= import(pathToFileURL(file).href) as Promise<Tasks>;
  const task = (await tasks)[name];
  if (!task) throw new Error(`${file} exports no task ${name}.`);
  parentPort!.postMessage(id);
  return moved(await task(input));
}

/** Has the typed arrays of a result moved to the caller instead of copied. */
function moved(result: unknown): unknown {
  const buffers = [...buffersOf(result)];
  if (buffers.length === 0) return result;
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result as object });
}

/** Finds the typed arrays within a result. A Buffer may share its memory with others, so it stays. */
function buffersOf(value: unknown, found = new Set<ArrayBufferLike>()): Set<ArrayBufferLike> {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return found;
  if (ArrayBuffer.isView(value)) return found.add(value.buffer);
  for (const member of Object.values(value)) buffersOf(member, found);
  return found;
}
