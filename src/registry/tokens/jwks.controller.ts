import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Public } from '#platform/auth';
import { SingleFlight } from '#platform/concurrency';
import { CachedDocument } from '#platform/http';
import { SigningKeyService } from './signing-key.service';
import { JwksDto } from './token.dto';

/** Must be shorter than a new key is published before it signs. */
const CACHED = { 'Cache-Control': 'public, max-age=300' };

@ApiTags('Tokens')
@Controller('.well-known/jwks.json')
export class JwksController {
  private readonly reads = new SingleFlight<CachedDocument>();
  private last: { text: string; document: CachedDocument } | null = null;

  constructor(private readonly signingKeys: SigningKeyService) {}

  /** Get the public keys of the tokens that this service issues */
  @Get()
  @Public()
  @ApiOkResponse({ type: JwksDto })
  keys(): Promise<CachedDocument> {
    return this.reads.run('keys', undefined, () => this.read());
  }

  /** Reads the keys, because other processes rotate them too. Makes a new document only when they have changed. */
  private async read(): Promise<CachedDocument> {
    // Creates the first key, so that the set is never empty.
    await this.signingKeys.current();
    const text = JSON.stringify({ keys: await this.signingKeys.publicKeys() });
    if (this.last?.text !== text) {
      this.last = {
        text,
        document: await CachedDocument.of(text, 'application/json; charset=utf-8', CACHED),
      };
    }
    return this.last.document;
  }
}
