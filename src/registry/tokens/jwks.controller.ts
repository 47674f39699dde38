import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Public } from '#platform/auth';
import { Reply } from '#platform/http';
import { SigningKeyService } from './signing-key.service';
import { JwksDto } from './token.dto';

/** Must be shorter than a new key is published before it signs. */
const CACHED = { 'Cache-Control': 'public, max-age=300' };

@ApiTags('Tokens')
@Controller('.well-known/jwks.json')
export class JwksController {
  constructor(private readonly signingKeys: SigningKeyService) {}

  /** Get the public keys of the tokens that this service issues */
  @Get()
  @Public()
  @ApiOkResponse({ type: JwksDto })
  async keys(): Promise<Reply> {
    // Creates the first key, so that the set is never empty.
    await this.signingKeys.current();
    return new Reply(200, { keys: await this.signingKeys.publicKeys() }, CACHED);
  }
}
