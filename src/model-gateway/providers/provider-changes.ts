import { Injectable } from '@nestjs/common';

type Listener = (orgId: string) => void;

/** Announces committed changes of providers, so that caches read them again. */
@Injectable()
export class ProviderChanges {
  private readonly listeners: Listener[] = [];

  onChange(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** Announces that a provider of an organization has changed. */
  announce(orgId: string): void {
    for (const listener of this.listeners) listener(orgId);
  }
}
