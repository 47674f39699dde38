import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { rootLogger } from '#platform/logging';
import { type CalledModel, type CalledTarget, ModelDirectory } from '../models/model-directory';
import { TargetFailureRepository } from '../models/target-failure.repository';

/** Failures in a row after which a target rests. */
const FAILURES_MAX = 3;
/** How often a process stores failures of a target that change nothing but their time, in milliseconds. */
const STORE_MS = 1_000;
/** Failing targets that a process keeps in memory. */
const TARGETS_MAX = 10_000;

/** A target that has failed, and has not answered since. Times are those of `performance.now()`. */
interface FailingTarget {
  /** Failures in a row. */
  failures: number;
  /** 0 if the target has not rested yet. */
  restsUntil: number;
  /** Whether a call tries the target after its rest, and the target rests for the others meanwhile. */
  isTried: boolean;
  storedAt: number;
}

/**
 * Puts targets that fail repeatedly into cooldown, for the `cooldown_s` of their model, so that calls do not wait for them. Calls try
 * a resting target after all others. When the rest ends, one call of each process tries the target again, and its failure renews the rest.
 *
 * Each process counts failures on its own. It stores the rests, which other processes learn with the model, within a second.
 */
@Injectable()
export class TargetHealth {
  private readonly failing = new LRUCache<string, FailingTarget>({ max: TARGETS_MAX });

  constructor(
    private readonly repository: TargetFailureRepository,
    private readonly models: ModelDirectory,
  ) {}

  /** Returns the targets of a model in their order, but with resting targets last. */
  order(model: CalledModel, targets: readonly CalledTarget[]): readonly CalledTarget[] {
    if (targets.length === 1) return targets;
    const now = performance.now();
    const resting = targets.filter((target) => this.restEnd(model, target) > now);
    return resting.length === 0
      ? targets
      : [...targets.filter((target) => !resting.includes(target)), ...resting];
  }

  /** Notes that a call is about to try a target. If its rest has just ended, it rests for other calls until this one has ended. */
  begin(model: CalledModel, target: CalledTarget): void {
    if (this.failing.size === 0) return;
    const state = this.failing.get(keyOf(model, target));
    const now = performance.now();
    if (!state || state.restsUntil === 0 || state.restsUntil > now) return;
    state.restsUntil = now + model.cooldown_s * 1000;
    state.isTried = true;
  }

  /** Notes that an attempt has ended without showing whether the target works, so that the next call tries it. */
  undecided(model: CalledModel, target: CalledTarget): void {
    if (this.failing.size === 0) return;
    const state = this.failing.get(keyOf(model, target));
    if (!state?.isTried) return;
    state.isTried = false;
    state.restsUntil = performance.now();
  }

  /** Notes that a target has failed. Resolves when this is stored, or could not be. */
  failed(model: CalledModel, target: CalledTarget): Promise<void> {
    const key = keyOf(model, target);
    const now = performance.now();
    const state = this.failing.get(key) ?? { ...NEW };
    this.failing.set(key, state);
    state.failures++;
    state.isTried = false;
    const isDue = now - state.storedAt >= STORE_MS;
    const rests = state.failures >= FAILURES_MAX && model.cooldown_s > 0;
    const isNew = rests && state.restsUntil === 0;
    if (rests) state.restsUntil = now + model.cooldown_s * 1000;
    if (!isDue && !isNew) return DONE;
    state.storedAt = now;
    return this.store(this.repository.put(model, target, rests ? model.cooldown_s : 0));
  }

  /** Notes that a target has answered. Resolves when this is stored, or could not be. */
  answered(model: CalledModel, target: CalledTarget): Promise<void> {
    if (this.failing.size === 0 && target.restsUntil === 0) return DONE;
    const key = keyOf(model, target);
    const state = this.failing.get(key);
    this.failing.delete(key);
    if (!state?.restsUntil && target.restsUntil === 0) return DONE;
    return this.store(
      this.repository.endRest(model, target).then(() => {
        // until now, calls have learned the rest again with the model
        this.failing.delete(key);
        this.models.invalidateModel(model);
      }),
    );
  }

  /** Returns when a target's rest ends, which another process may have started. */
  private restEnd(model: CalledModel, target: CalledTarget): number {
    const { restsUntil } = target;
    if (this.failing.size === 0 && restsUntil === 0) return 0;
    const key = keyOf(model, target);
    const state = this.failing.get(key);
    if (restsUntil <= (state?.restsUntil ?? 0)) return state?.restsUntil ?? 0;
    this.failing.set(key, { ...NEW, ...state, failures: FAILURES_MAX, restsUntil });
    return restsUntil;
  }

  private store(writing: Promise<void>): Promise<void> {
    return writing.catch((err: unknown) =>
      rootLogger.warn({ err }, 'the state of a target of a model could not be stored'),
    );
  }
}

const DONE = Promise.resolve();
const NEW: FailingTarget = { failures: 0, restsUntil: 0, isTried: false, storedAt: -Infinity };

/** A change of the model or of the provider makes another key, so that a repaired target is tried at once. */
const keyOf = (model: CalledModel, { provider, upstream_model }: CalledTarget): string =>
  [model.model_id, model.generation, provider.provider_id, provider.generation, upstream_model].join(' ');
