"""A class, and its first method as it is and edited much: what tests of copies are made on."""

from __future__ import annotations

STOCK = '''class Stock:
    """What is in the house."""

    def load(self, folder):
        names = list_names(folder)
        for name in sorted(names):
            self.items[name] = read_item(folder, name)
        self.count = len(names)
        return self.items

    def total(self):
        amounts = [item.amount for item in self.items.values()]
        checked = check_amounts(amounts)
        return sum(checked)
'''
LOAD = STOCK[STOCK.index("    def load") : STOCK.index("    def total")]
EDITED = (
    LOAD.replace("names = list_names(folder)", "found = scan_everything(folder, deep=True)")
    .replace("for name in sorted(names):", "for index, entry in enumerate(found):")
    .replace("self.items[name] = read_item(folder, name)", "self.keep_entry(index, load_entry(entry))")
    .replace("self.count = len(names)", "self.size = index + 1")
)
