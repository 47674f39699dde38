import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';

/** Knows whether the process is stopping. */
@Injectable()
export class Lifecycle implements BeforeApplicationShutdown {
  stopping = false;

  beforeApplicationShutdown(): void {
    this.stopping = true;
  }
}
