import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { signIn, type User } from './session.ts';

export interface SignInProps {
  /** That of the service. */
  readonly origin: string;
  readonly onUser: (user: User) => void;
}

export function SignIn({ origin, onUser }: SignInProps): ReactNode {
  const login = useMutation({
    mutationFn: (form: FormData) => signIn(origin, String(form.get('email')), String(form.get('password'))),
    onSuccess: (user) => user !== null && onUser(user),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    login.mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={submit} aria-label="Sign in">
      <label>
        E-mail
        <input name="email" type="email" autoComplete="username" required />
      </label>
      <label>
        Password
        <input name="password" type="password" autoComplete="current-password" required />
      </label>
      {login.error !== null && <p role="alert">{login.error.message}</p>}
      <p>
        <button type="submit" disabled={login.isPending}>
          Sign in
        </button>
      </p>
    </form>
  );
}
