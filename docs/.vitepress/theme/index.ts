export { default } from 'vitepress/theme-without-fonts';

// After the styles of the theme, whose colours it replaces.
import './style.css';
