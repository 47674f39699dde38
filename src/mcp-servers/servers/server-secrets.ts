import { Injectable } from '@nestjs/common';
import { SealedSecretError, SecretBox } from '#platform/secrets';

/** Seals what a server is to be shown, each for that server alone. */
@Injectable()
export class ServerSecrets {
  constructor(private readonly box: SecretBox) {}

  seal(serverId: string, value: string): string {
    return this.box.seal(value, useOf(serverId));
  }

  /** @throws SealedSecretError where it was sealed under another `SECRETS_KEY`, or for another server. */
  open(serverId: string, sealed: string): string {
    return this.box.open(sealed, useOf(serverId));
  }

  /** Whether a sealed secret is this one; one that cannot be opened is another. */
  isSame(serverId: string, sealed: string | null, value: string): boolean {
    if (sealed === null) return false;
    try {
      return this.open(serverId, sealed) === value;
    } catch (error) {
      if (error instanceof SealedSecretError) return false;
      throw error;
    }
  }
}

const useOf = (serverId: string): string => `mcp-server:${serverId}`;
