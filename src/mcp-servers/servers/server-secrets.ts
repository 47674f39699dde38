import { Injectable } from '@nestjs/common';
import { SecretBox } from '#platform/secrets';

/** Seals the secrets of servers. A sealed secret can be opened only for its own server. */
@Injectable()
export class ServerSecrets {
  constructor(private readonly box: SecretBox) {}

  seal(serverId: string, value: string): string {
    return this.box.seal(value, useOf(serverId));
  }

  /** @throws SealedSecretError for a secret that was sealed under another `SECRETS_KEY` or for another server */
  open(serverId: string, sealed: string): string {
    return this.box.open(sealed, useOf(serverId));
  }

  /** Returns whether a sealed secret has this value. A secret that cannot be opened counts as different. */
  isSame(serverId: string, sealed: string | null, value: string): boolean {
    return this.box.isSame(sealed, value, useOf(serverId));
  }
}

const useOf = (serverId: string): string => `mcp-server:${serverId}`;
