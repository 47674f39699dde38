import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Environment } from '#platform/config';
import { ScorerEngine } from './engine/scorer.engine';

/** The engine of `code` scorers, with as many threads as the environment says; it ends with the application. */
@Injectable()
export class CodeEngine extends ScorerEngine implements OnApplicationShutdown {
  constructor(environment: Environment) {
    super({ threads: environment.SCORER_THREADS });
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }
}
