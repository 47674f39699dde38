import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';

/** Whether the process has been told to stop. */
@Injectable()
export class Lifecycle implements BeforeApplicationShutdown {
  stopping = false;

  beforeApplicationShutdown(): void {
    this.stopping = true;
  }
}
