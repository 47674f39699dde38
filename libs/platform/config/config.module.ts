import { type DynamicModule, Module } from '@nestjs/common';
import { Environment } from './environment';

/** Provides the `Environment` that was read at boot to every module. */
@Module({})
export class ConfigModule {
  static forRoot(environment: Environment): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      providers: [{ provide: Environment, useValue: environment }],
      exports: [Environment],
    };
  }
}
