import { Injectable } from '@nestjs/common';
import { problem } from '#platform/problem';
import type { JudgeBackend as JudgeBackendName } from '../scorers/definitions/judge.definition';
import type { ScoringSubject } from '../scorers/engine/score-outcome';
import type { ScoredItem } from './scored-item';

/** What an `llm_judge` scorer asks. */
export interface JudgeBackend {
  /** The exact request that would be sent, without secrets. */
  preview(definition: unknown, subject: ScoringSubject): unknown;
  /** Judges one subject. What it fails at is the item's `error`. Throws the signal's reason when it is aborted. */
  judge(definition: unknown, subject: ScoringSubject, signal: AbortSignal): Promise<ScoredItem>;
}

/** The judge backends that are configured. */
@Injectable()
export class JudgeBackends {
  private readonly backends = new Map<JudgeBackendName, JudgeBackend>();

  register(name: JudgeBackendName, backend: JudgeBackend): void {
    this.backends.set(name, backend);
  }

  find(name: JudgeBackendName): JudgeBackend | undefined {
    return this.backends.get(name);
  }

  /** 503 unless the backend is configured. */
  require(name: JudgeBackendName): JudgeBackend {
    const backend = this.backends.get(name);
    if (!backend) throw problem.unavailable(missing(name));
    return backend;
  }
}

/** A preview is the request to a backend, so that it cannot be had without one either. */
const missing = (name: JudgeBackendName): string =>
  `The scorer asks a judge backend of the kind ${name}, and this service has none: judges can be kept and versioned here, but not run, tested or previewed. ` +
  'Nothing was stored. Run a scorer of the kind code; or ask the judge yourself, and send what it says in the scores of results, each with this scorer_id.';
