import { Module } from '@nestjs/common';
import { Environment } from '#platform/config';
import { SecretBox } from './secret-box';
import { SecretKeys } from './secret-keys';

/** Provides `SecretBox` and `SecretKeys`. */
@Module({
  providers: [
    {
      provide: SecretKeys,
      inject: [Environment],
      useFactory: (environment: Environment) => new SecretKeys(environment),
    },
    SecretBox,
  ],
  exports: [SecretKeys, SecretBox],
})
export class SecretsModule {}
