// The tasks of the threads that run code scorers. `encodeSubject` encodes subjects; definitions are JSON texts.
import { faultsOfCode } from '../../definitions/definition.forms';
import type { FormFault } from '../../definitions/form';
import { ChecksRunner } from '../checks/checks.runner';
import { fixClock } from '../javascript/fixed-clock';
import { QuickJsInstance, type RawOutcome, type ScriptRun } from '../javascript/quickjs.instance';
import { readCheckOutcome, readScriptOutcome } from '../javascript/script.result';
import { decodeSubject, type EncodedSubject, type ScoreOutcome } from '../subject';

/** A script with its limits. */
export interface ScriptTask extends ScriptRun {
  memoryMb: number;
  /** The compiled interpreter, which all threads share. */
  interpreter: WebAssembly.Module;
}

/** Interpreters that a thread caches, one for each memory limit. Each takes a few MiB. */
const MAX_INSTANCES = 3;
const instances = new Map<number, QuickJsInstance>();
const checks = new ChecksRunner();

fixClock(globalThis);

/** Scores a subject with a script. */
export async function scoreByScript(
  task: ScriptTask & { members: readonly string[] },
): Promise<ScoreOutcome> {
  return readScriptOutcome(await run(task), task);
}

/** Evaluates a script without calling `score`. Returns what is wrong with it, or null. */
export async function faultOfScript(task: ScriptTask): Promise<string | null> {
  return readCheckOutcome(await run(task), task);
}

/** Scores a subject with checks. */
export function scoreByChecks(task: { definition: string; subject: EncodedSubject }): ScoreOutcome {
  return checks.run(task.definition, decodeSubject(task.subject));
}

/** Returns what is wrong with a definition, apart from its script. */
export const faultsOfDefinition = (definition: string): FormFault[] => faultsOfCode(JSON.parse(definition));

async function run(task: ScriptTask): Promise<RawOutcome> {
  const { interpreter, memoryMb } = task;
  const instance = instances.get(memoryMb) ?? (await QuickJsInstance.create(interpreter, memoryMb));
  instances.delete(memoryMb);
  const outcome = instance.run(task);
  // The most recently used instance is last.
  if (!instance.isSpent) instances.set(memoryMb, instance);
  for (const oldest of instances.keys()) {
    if (instances.size <= MAX_INSTANCES) break;
    instances.delete(oldest);
  }
  return outcome;
}
