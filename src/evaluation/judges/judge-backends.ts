import { Injectable } from '@nestjs/common';
import { problem } from '#platform/problem';
import type { JudgeBackendName } from '../scorers/definitions/judge.definition';
import type { JudgeBackend } from './judge-backend';

/** The judge backends that are configured. */
@Injectable()
export class JudgeBackends {
  constructor(private readonly configured: Readonly<Record<JudgeBackendName, JudgeBackend | undefined>>) {}

  find(name: JudgeBackendName): JudgeBackend | undefined {
    return this.configured[name];
  }

  /** 503 unless the backend is configured. */
  require(name: JudgeBackendName): JudgeBackend {
    const backend = this.configured[name];
    if (!backend) throw problem.unavailable(missing(name));
    return backend;
  }
}

const VARIABLE = { llm: 'JUDGE_BASE_URL', classifier: 'CLASSIFIER_BASE_URL' } as const;

/** A preview is the request to a backend, so that it cannot be had without one either. */
const missing = (name: JudgeBackendName): string =>
  `The scorer asks a judge backend of the kind ${name}, and this service has none: judges can be kept and versioned here, but not run, tested or previewed. ` +
  `Nothing was stored. Its operator sets ${VARIABLE[name]}. Without: run a scorer of the kind code; or ask the judge yourself, and send what it says in the scores of results, each with this scorer_id.`;
