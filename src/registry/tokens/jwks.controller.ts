import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Public } from '#platform/auth';
import { SingleFlight } from '#platform/concurrency';
import { CachedDocument } from '#platform/http';
import { OrgSigningService } from '../orgs/signing-keys/org-signing.service';
import { SigningKeyService } from './signing-key.service';
import { JwksDto } from './token.dto';

/** Shorter than the time for which a new key is published before it signs. */
const CACHED = { 'Cache-Control': 'public, max-age=300' };

@ApiTags('Tokens')
@Controller('.well-known/jwks.json')
export class JwksController {
  private readonly reads = new SingleFlight<CachedDocument>();
  private last: { version: string; document: CachedDocument } | null = null;

  constructor(
    private readonly signingKeys: SigningKeyService,
    private readonly orgSigning: OrgSigningService,
  ) {}

  /** Get the public keys that verify this service's tokens and organizations' signatures */
  @Get()
  @Public()
  @ApiOkResponse({ type: JwksDto })
  keys(): Promise<CachedDocument> {
    return this.reads.run('keys', undefined, () => this.read());
  }

  /**
   * Reads the few token keys, because other processes also rotate them, and the generation of the organizations' keys. Only if
   * something has changed, reads the organizations' keys and builds a new document.
   */
  private async read(): Promise<CachedDocument> {
    // Creates the first key, so that the set is never empty.
    await this.signingKeys.current();
    const tokenKeys = await this.signingKeys.publicKeys();
    const version = JSON.stringify([tokenKeys, await this.orgSigning.generation()]);
    if (this.last?.version !== version) {
      const text = JSON.stringify({ keys: [...tokenKeys, ...(await this.orgSigning.publicKeys())] });
      this.last = {
        version,
        document: await CachedDocument.of(text, 'application/json; charset=utf-8', CACHED),
      };
    }
    return this.last.document;
  }
}
