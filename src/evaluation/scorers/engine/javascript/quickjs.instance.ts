import {
  type EmscriptenModule,
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core';
import releaseSync from '@jitl/quickjs-wasmfile-release-sync';
import { distance } from 'fastest-levenshtein';
import {
  MAX_ERROR_LENGTH,
  MAX_LEVENSHTEIN_LENGTH,
  MAX_RESULT_LENGTH,
  SUBJECT_MEMBERS,
} from '../../definitions/limits';
import { escapeSparseUnicode } from '../subject';
import { PRELUDE, SOURCE_NAME } from './prelude';
import { type Allocator, RestorableMemory, STACK_BYTES } from './restorable.memory';

/** A source to run, and the subject's members as JSON texts in the order of {@link SUBJECT_MEMBERS}. */
export interface ScriptRun {
  source: string;
  /** Without members, the run only checks that `score` is defined. */
  members?: readonly string[];
  timeoutMs: number;
}

/** What stopped a run: a limit, or `fault` for a trap in the interpreter. */
export type Stop = 'deadline' | 'memory' | 'stack' | 'fault';

/**
 * How a run ended: with the text that the prelude returned (see {@link PRELUDE}) and whether memory ran out meanwhile, or
 * with what stopped it.
 */
export type RawOutcome = { text: string; isExhausted: boolean } | { stop: Stop };

/**
 * A QuickJS interpreter in a WebAssembly memory of bounded size. Runs many sources that must not see each other.
 *
 * The memory holds the whole state of the interpreter and is restored after each run, so that a run leaves nothing behind.
 * This costs less than a tenth of a new context, and less than a hundredth of a new instance. If `isSpent`, the memory
 * could not be restored, and the instance must be replaced.
 */
export class QuickJsInstance {
  isSpent = false;
  private deadline = Infinity;
  private isLate = false;
  private members: readonly string[] = [];
  private readonly entry: { isDefined: QuickJSHandle; run: QuickJSHandle; describe: QuickJSHandle };

  private constructor(
    private readonly memory: RestorableMemory,
    private readonly module: EmscriptenModule,
    private readonly context: QuickJSContext,
  ) {
    // About 3,000 nested calls. Beyond them a scorer gets an InternalError, which it may catch.
    context.runtime.setMaxStackSize(STACK_BYTES);
    context.runtime.setInterruptHandler(() => (this.isLate = performance.now() > this.deadline));
    this.entry = this.evaluatePrelude();
  }

  /**
   * Creates an instance of the compiled interpreter.
   *
   * @param memoryMb largest heap of a run, in MiB, 2 or more
   */
  static async create(wasm: WebAssembly.Module, memoryMb: number): Promise<QuickJsInstance> {
    const memory = new RestorableMemory(memoryMb);
    const variant = newVariant(releaseSync, { wasmModule: wasm, wasmMemory: memory.memory });
    const loaded: EmscriptenModule[] = [];
    const watched: QuickJSSyncVariant = {
      ...variant,
      async importModuleLoader() {
        const load = await variant.importModuleLoader();
        if (typeof load !== 'function') throw new Error('The interpreter has no loader.');
        return async (options) => {
          const module = await load(options);
          writeTextFast(module);
          loaded.push(module);
          memory.markHeap(allocatorOf(module));
          return module;
        };
      },
    };
    const interpreter = await newQuickJSWASMModuleFromVariant(watched);
    const module = loaded[0]!;
    const instance = new QuickJsInstance(memory, module, interpreter.newContext());
    memory.seal(allocatorOf(module));
    return instance;
  }

  /** Runs one script from a pristine state and leaves a pristine state behind. Never throws. */
  run(script: ScriptRun): RawOutcome {
    this.deadline = performance.now() + script.timeoutMs;
    this.isLate = false;
    this.members = script.members ?? [];
    let outcome: RawOutcome;
    try {
      outcome = this.evaluate(script);
    } catch (error) {
      this.isSpent = true;
      outcome = { stop: this.stopReason(error instanceof RangeError ? 'stack' : 'fault') };
    }
    this.deadline = Infinity;
    this.members = [];
    if (!this.isSpent) this.isSpent = !this.memory.restore();
    return outcome;
  }

  private evaluate(script: ScriptRun): RawOutcome {
    const { context, entry } = this;
    if (!this.hasRoomFor(script.source)) return { stop: 'memory' };
    const evaluated = context.evalCode(script.source, SOURCE_NAME, { type: 'global' });
    if (evaluated.error) {
      return this.isLate ? { stop: 'deadline' } : this.call(entry.describe, evaluated.error);
    }
    return this.call(script.members ? entry.run : entry.isDefined);
  }

  private call(entry: QuickJSHandle, ...args: QuickJSHandle[]): RawOutcome {
    const { context } = this;
    const result = context.callFunction(entry, context.undefined, ...args);
    // Errors that the sandbox cannot catch. They are not inspected, because that could run the scorer's code.
    if (result.error) return { stop: this.stopReason('stack') };
    const text = context.getString(result.value);
    return text === '' ? { stop: this.stopReason('memory') } : { text, isExhausted: this.memory.isExhausted };
  }

  private stopReason(otherwise: Stop): Stop {
    if (this.isLate) return 'deadline';
    return this.memory.isExhausted ? 'memory' : otherwise;
  }

  private evaluatePrelude(): QuickJsInstance['entry'] {
    const { context } = this;
    const host = context.newObject();
    // The handles are never disposed, so that no run can release the last reference to a host function.
    context.setProp(
      host,
      'member',
      context.newFunction('member', (index) => this.member(index)),
    );
    context.setProp(
      host,
      'distance',
      context.newFunction('distance', (a, b) => context.newNumber(this.distance(a, b))),
    );
    const limits = JSON.stringify({
      error: MAX_ERROR_LENGTH,
      result: MAX_RESULT_LENGTH,
      levenshtein: MAX_LEVENSHTEIN_LENGTH,
      members: SUBJECT_MEMBERS,
    });
    const prelude = context.unwrapResult(context.evalCode(PRELUDE, 'prelude.js', { type: 'global' }));
    const limitsHandle = context.unwrapResult(
      context.evalCode(`(${limits})`, 'limits.js', { type: 'global' }),
    );
    const entry = context.unwrapResult(context.callFunction(prelude, context.undefined, host, limitsHandle));
    return {
      isDefined: context.getProp(entry, 'isDefined'),
      run: context.getProp(entry, 'run'),
      describe: context.getProp(entry, 'describe'),
    };
  }

  private member(index: QuickJSHandle): QuickJSHandle {
    const text = escapeSparseUnicode(this.members[this.context.getNumber(index)] ?? 'null');
    if (!this.hasRoomFor(text)) throw new OutOfMemory();
    const handle = this.context.newString(text);
    if (this.context.typeof(handle) !== 'string') throw new OutOfMemory();
    return handle;
  }

  /** Takes the strings as JSON texts, because plain strings lose NULs and lone surrogates on the way from the interpreter. */
  private distance(a: QuickJSHandle, b: QuickJSHandle): number {
    const first: unknown = JSON.parse(this.context.getString(a));
    const second: unknown = JSON.parse(this.context.getString(b));
    if (typeof first !== 'string' || typeof second !== 'string')
      throw new TypeError('distance compares two strings');
    return distance(first, second);
  }

  /** Tells whether a text fits. If it does not, the allocator returns address 0, and the library would write to it. */
  private hasRoomFor(text: string): boolean {
    const pointer = this.module._malloc(Buffer.byteLength(text) + 1);
    if (pointer === 0) return false;
    this.module._free(pointer);
    return true;
  }
}

/** Copies texts into the memory natively, which takes 10 ms for 5 MB. The module's own loop takes 80 ms. */
function writeTextFast(module: EmscriptenModule): void {
  const encoder = new TextEncoder();
  module.lengthBytesUTF8 = (text) => Buffer.byteLength(text);
  module.stringToUTF8 = (text, pointer, maxBytes = Infinity) => {
    const room = module.HEAPU8.subarray(pointer, pointer + maxBytes - 1);
    const { written } = encoder.encodeInto(text, room);
    module.HEAPU8[pointer + written] = 0;
  };
}

class OutOfMemory extends Error {
  override name = 'InternalError';
  constructor() {
    super('out of memory');
  }
}

function allocatorOf(module: EmscriptenModule): Allocator {
  return { malloc: (bytes) => module._malloc(bytes), free: (pointer) => module._free(pointer) };
}
