// The entry of a sandbox thread. It runs one task at a time; whatever goes wrong in it is ended from outside, by ending
// the thread.
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { faultsOfCode } from '../../definitions/definition.forms';
import { ChecksRunner } from '../checks/checks.runner';
import { fixClock } from '../javascript/fixed-clock';
import { QuickJsInstance } from '../javascript/quickjs.instance';
import type { RawOutcome, ScriptRun } from '../javascript/quickjs.instance';
import { readCheckOutcome, readScriptOutcome } from '../javascript/script.result';
import { DEFAULT_MEMORY_MB } from '../../definitions/limits';
import { decodeSubject } from '../subject.codec';
import type { ThreadReady, ThreadReply, ThreadTask } from './sandbox.worker';

/** Instances with other memory bounds are kept beside each other, but not many: each holds a few MiB. */
const MAX_INSTANCES = 3;

class SandboxThread {
  private readonly instances = new Map<number, QuickJsInstance>();
  private readonly checks = new ChecksRunner();

  constructor(
    private readonly port: MessagePort,
    private readonly wasm: WebAssembly.Module,
  ) {}

  async serve(): Promise<void> {
    await this.instanceFor(DEFAULT_MEMORY_MB);
    this.port.on('message', (task: ThreadTask) => {
      void this.perform(task).then((answer) => this.port.postMessage({ answer } satisfies ThreadReply));
    });
    this.port.postMessage({ wasm: this.wasm } satisfies ThreadReady);
  }

  private async perform(task: ThreadTask): Promise<ThreadReply['answer']> {
    switch (task.kind) {
      case 'script':
        return readScriptOutcome(await this.runScript(task), task);
      case 'check-script':
        return readCheckOutcome(await this.runScript(task), task);
      case 'checks':
        return this.checks.run(task.definition, decodeSubject(task));
      case 'validate':
        return faultsOfCode(JSON.parse(task.definition));
    }
  }

  private async runScript(script: ScriptRun & { memoryMb: number }): Promise<RawOutcome> {
    const instance = await this.instanceFor(script.memoryMb);
    const outcome = instance.run(script);
    if (instance.isSpent) this.instances.delete(script.memoryMb);
    return outcome;
  }

  private async instanceFor(memoryMb: number): Promise<QuickJsInstance> {
    const instance = this.instances.get(memoryMb) ?? (await QuickJsInstance.create(this.wasm, memoryMb));
    this.instances.delete(memoryMb);
    this.instances.set(memoryMb, instance);
    for (const oldest of this.instances.keys()) {
      if (this.instances.size <= MAX_INSTANCES) break;
      this.instances.delete(oldest);
    }
    return instance;
  }
}

function compileInterpreter(): WebAssembly.Module {
  return new WebAssembly.Module(readFileSync(require.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')));
}

if (!parentPort) throw new Error('this file is the entry of a thread');
fixClock(globalThis);
const { wasm = compileInterpreter() } = workerData as Partial<ThreadReady>;
void new SandboxThread(parentPort, wasm).serve();
